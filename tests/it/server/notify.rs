//! What a service manager is told, over a socket as systemd has one.

use std::os::unix::net::UnixDatagram;

use crate::support::process::{GUARD, Sidecar};

/// The next message, line by line.
fn next(manager: &UnixDatagram) -> Vec<String> {
    let mut bytes = [0; 4096];
    let length = manager.recv(&mut bytes).unwrap();
    let text = std::str::from_utf8(&bytes[..length]).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_service_manager_hears_ready_then_signs_of_life_then_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(GUARD)).unwrap();
    let environment = [
        ("NOTIFY_SOCKET", path.to_str().unwrap()),
        ("WATCHDOG_USEC", "20000"),
    ];
    let mut sidecar = Sidecar::start_with(&[], &environment);

    let (endpoint, admin) = (&sidecar.endpoint, &sidecar.admin);
    let status = format!("STATUS=serving on {endpoint}, admin on {admin}");
    assert_eq!(next(&manager), ["READY=1", &status]);
    for _ in 0..3 {
        assert_eq!(next(&manager), ["WATCHDOG=1"]);
    }
    sidecar.signal("TERM");
    let mut heard = next(&manager);
    while heard == ["WATCHDOG=1"] {
        heard = next(&manager);
    }
    assert_eq!(heard, ["STOPPING=1", "STATUS=draining"]);
    assert_eq!(sidecar.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_watchdog_of_another_process_or_of_no_time_gets_no_signs_of_life() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(GUARD)).unwrap();
    let socket = ("NOTIFY_SOCKET", path.to_str().unwrap());
    let of_another = [
        socket,
        ("WATCHDOG_USEC", "1000"),
        ("WATCHDOG_PID", "4000000000"),
    ];
    let of_no_time = [socket, ("WATCHDOG_USEC", "0")];
    for environment in [of_another.as_slice(), &of_no_time] {
        let mut sidecar = Sidecar::start_with(&[], environment);
        assert_eq!(next(&manager)[0], "READY=1");
        sidecar.client().await.is_serving().await.unwrap();
        sidecar.signal("TERM");
        assert_eq!(next(&manager)[0], "STOPPING=1");
        assert_eq!(sidecar.ended().await.code(), Some(0));
    }
}

#[tokio::test]
async fn a_service_manager_that_is_gone_keeps_nobody_from_serving() {
    let gone = tempfile::tempdir().unwrap().path().join("notify");
    let environment = [("NOTIFY_SOCKET", gone.to_str().unwrap())];
    let mut sidecar = Sidecar::start_with(&[], &environment);
    sidecar.logs("the service manager cannot be told");
    assert!(sidecar.client().await.is_serving().await.unwrap());
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
}
