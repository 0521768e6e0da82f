//! Single files that a step may have replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

async fn read(fixture: &Fixture, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
    timeout(DEADLINE, fixture.sandbox.read_file(&fixture.path(name), 1000))
        .await
        .unwrap()
}

#[tokio::test]
async fn only_a_regular_file_of_bounded_size_is_read() {
    let fixture = fixture().await;
    fixture
        .run("mkfifo fifo; ln -s /etc/passwd link; mkdir dir; truncate -s 10G sparse; printf abc > plain; : > empty")
        .await;
    drop(std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap());
    fixture
        .run("head -c 1000 /dev/zero > full; head -c 1001 /dev/zero > over; ln full hard")
        .await;
    for (name, content) in [
        ("plain", Some(3)),
        ("empty", Some(0)),
        ("full", Some(1000)),
        ("hard", Some(1000)),
        ("none", None),
        ("none/x", None),
    ] {
        assert_eq!(
            read(&fixture, name).await.unwrap().map(|bytes| bytes.len()),
            content,
            "{name}"
        );
    }
    for (name, reason) in [
        ("fifo", "is a FIFO, not a regular file"),
        ("link", "is a symbolic link, not a regular file"),
        ("dir", "is a directory, not a regular file"),
        ("socket", "is a socket or a device, not a regular file"),
        ("sparse", "has more than 1000 bytes"),
        ("over", "has more than 1000 bytes"),
    ] {
        let error = read(&fixture, name).await.unwrap_err();
        assert_eq!(error.to_string(), format!("'{}' {reason}", fixture.path(name)));
    }
    let error = timeout(DEADLINE, fixture.sandbox.read_file("/dev/zero", 10))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.to_string(), "'/dev/zero' is a device, not a regular file");
}

#[tokio::test]
async fn large_files_arrive_whole() {
    let fixture = fixture().await;
    let content = vec![7; 3 << 20];
    let path = fixture.path("large");
    fixture.sandbox.write_file(&path, &content).await.unwrap();
    assert_eq!(
        fixture.sandbox.read_file(&path, 3 << 20).await.unwrap(),
        Some(content)
    );
}

#[tokio::test]
async fn a_file_is_written_for_its_owner_and_never_through_what_is_in_the_way() {
    let fixture = fixture().await;
    let path = fixture.path("a/b/c");
    fixture.sandbox.write_file(&path, b"long content").await.unwrap();
    fixture.sandbox.write_file(&path, b"short").await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"short");
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&fixture.path("a/b"))), (0o600, 0o700));
    let outside = fixture.directory.path().join("outside");
    fs::write(&outside, "kept").unwrap();
    fixture
        .run(&format!(
            "ln -s '{}' link; mkfifo fifo; mkdir dir",
            outside.display()
        ))
        .await;
    for name in ["link", "fifo", "dir"] {
        let path = fixture.path(name);
        let result = timeout(DEADLINE, fixture.sandbox.write_file(&path, b"x"))
            .await
            .unwrap();
        assert!(matches!(result, Err(Error::Write { .. })), "{name}");
    }
    assert_eq!(fs::read(&outside).unwrap(), b"kept");
}

#[tokio::test]
async fn nothing_is_written_or_removed_through_a_link_on_the_way() {
    let fixture = fixture().await;
    let outside = fixture.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    fixture.run(&format!("ln -s '{}' way", outside.display())).await;
    for name in ["way/kept", "way/new", "way/new/new"] {
        let path = fixture.path(name);
        let error = fixture.sandbox.write_file(&path, b"x").await.unwrap_err();
        let reason = "the directory 'way' of the job was replaced by something else";
        assert_eq!(
            crate::chain::Chain(&error).to_string(),
            format!("write '{path}': {reason}")
        );
        assert!(fixture.sandbox.remove_file(&path).await.is_err());
    }
    let kept = outside.join("kept").to_string_lossy().into_owned();
    assert!(
        fixture.sandbox.write_file(&kept, b"x").await.is_err(),
        "outside of the job"
    );
    assert_eq!(fs::read(&kept).unwrap(), b"kept");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn removing_a_file_removes_a_link_and_not_its_target() {
    let fixture = fixture().await;
    fixture.run("echo x > target; ln -s target link; mkdir dir").await;
    for name in ["link", "link", "none/none"] {
        let result = fixture.sandbox.remove_file(&fixture.path(name)).await;
        assert!(result.is_ok() || name == "none/none", "{name}");
    }
    assert!(fixture.workspace().join("target").exists());
    assert!(fixture.sandbox.remove_file(&fixture.path("dir")).await.is_err());
    assert!(fixture.sandbox.is_dir(&fixture.path("dir")).await);
    assert!(!fixture.sandbox.is_dir(&fixture.path("target")).await);
}
