//! `hashFiles` over real trees.

use sha2::{Digest, Sha256};

use super::*;

fn digest(contents: &[&str]) -> String {
    let mut all = Sha256::new();
    for content in contents {
        all.update(Sha256::digest(content));
    }
    format!("{:x}", all.finalize())
}

async fn hash(fixture: &Fixture, patterns: &[&str]) -> Result<String, String> {
    let patterns = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    timeout(DEADLINE, fixture.sandbox.hash_files(patterns))
        .await
        .unwrap()
}

#[tokio::test]
async fn files_are_hashed_in_the_order_of_the_traversal() {
    let fixture = fixture().await;
    let script = "mkdir -p b/c d 'sp ä'; printf 1 > a; printf 2 > b.x; printf 3 > b/c/f; printf 4 > b/a; printf 5 > Z; \
                  printf 6 > 'sp ä/f'; mkfifo d/fifo; mkdir empty";
    assert_eq!(fixture.run(script).await.1.code, 0);
    for (patterns, contents) in [
        (&["**"][..], &["5", "1", "4", "3", "2", "6"][..]),
        (&["b/**", "a"], &["4", "3", "1"]),
        (&["**/f", "!b/**"], &["6"]),
        (&["a\n# comment\n\nZ"], &["1", "5"]),
        (&["none", "empty/**"], &[]),
        (&["/etc/passwd", "a"], &["1"]),
    ] {
        let expected = if contents.is_empty() {
            String::new()
        } else {
            digest(contents)
        };
        assert_eq!(hash(&fixture, patterns).await, Ok(expected), "{patterns:?}");
    }
}

#[tokio::test]
async fn links_are_files_unless_they_are_followed_and_loops_end() {
    let fixture = fixture().await;
    let script = "mkdir -p real/sub; printf 1 > real/f; ln -s real dirlink; ln -s real/f filelink; ln -s nowhere broken; \
                  ln -s loop loop; ln -s .. real/sub/up";
    assert_eq!(fixture.run(script).await.1.code, 0);
    assert_eq!(hash(&fixture, &["**"]).await, Ok(digest(&["1", "1"])));
    assert_eq!(hash(&fixture, &["dirlink/**"]).await, Ok(String::new()));
    let followed = hash(&fixture, &["--follow-symbolic-links", "**"]).await;
    assert_eq!(followed, Ok(digest(&["1", "1", "1"])));
    assert_eq!(
        hash(&fixture, &["--no", "**"]).await,
        Err("Invalid glob option --no, avaliable option: '--follow-symbolic-links'.".into())
    );
}

#[tokio::test]
async fn too_much_time_is_an_error() {
    let fixture = fixture().await;
    fixture.run("touch a").await;
    let root = &fixture.sandbox.layout().workspace;
    let error = hash::hash_files(root, &["it's".into()], Instant::now()).unwrap_err();
    assert_eq!(error, "hashFiles(it''s) couldn't finish within 120 seconds.");
}
