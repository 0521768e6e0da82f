//! Sending messages so that a lost one is seen.

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler, Message};
use tokio::sync::oneshot;

/// Sends a control message to an actor that is expected to live; says so in the operator's log if it does not.
///
/// Control has its own lane: it is never held back by a full mailbox.
pub(crate) fn tell<A, M>(receiver: &Addr<A>, message: M)
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message<Result = ()> + Send + 'static,
{
    if !receiver.connected() {
        tracing::debug!(
            receiver = std::any::type_name::<A>(),
            message = std::any::type_name::<M>(),
            "the receiver has ended; the message is not needed any more"
        );
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the wrapper that notices a closed receiver"
    )]
    receiver.do_send(message);
}

/// Answers an ask; whoever asked may have gone away, which is not worth more than a note.
pub(crate) fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    if reply.send(value).is_err() {
        tracing::debug!(
            reply = std::any::type_name::<T>(),
            "nobody waits for the answer any more"
        );
    }
}
