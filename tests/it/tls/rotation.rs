//! New certificates and authorities while calls are in flight.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use rustls::pki_types::CertificateDer;

use super::*;
use crate::server::quoted;

/// What a new connection is shown.
async fn shown(rig: &Rig, config: &Arc<ClientConfig>) -> CertificateDer<'static> {
    let stream = connect(rig.grpc, config, SERVER).await.unwrap();
    let chain = stream.get_ref().1.peer_certificates().unwrap();
    chain[0].clone().into_owned()
}

/// Trusts servers of two authorities, with a certificate of the second.
fn moved(rig: &Rig, second: &Authority) -> Arc<ClientConfig> {
    let identity = second.issue(CLIENT, Valid::Now);
    let mut roots = RootCertStore::empty();
    roots.add(rig.authority.der()).unwrap();
    roots.add(second.der()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&BOTH)
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![identity.der()], identity.key())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Replaces each file by a rename, as tools do that write beside it first.
fn rename_into(folder: &Path, identity: &Identity, authority: &Authority) {
    let beside = folder.join("beside");
    fs::create_dir(&beside).unwrap();
    identity.write(&beside, authority);
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        fs::rename(beside.join(name), folder.join(name)).unwrap();
    }
}

#[tokio::test]
async fn no_call_fails_while_certificate_and_authority_change() {
    let rig = Rig::mutual().await;
    let old = rig.client();
    let (is_over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    let load = join_all((0..4).map(|_| async {
        let mut client = grpc(rig.grpc, &old).await;
        while !is_over.load(Ordering::Relaxed) {
            client.diagnose(quoted()).await.unwrap();
            calls.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let under_load = async || {
        let before = calls.load(Ordering::Relaxed);
        let more = async || (before + 8 < calls.load(Ordering::Relaxed)).then_some(());
        eventually("calls", more).await;
    };
    let rotate = async {
        under_load().await;
        let second = Authority::new("Second");
        let new = moved(&rig, &second);
        let first_swapped = second.issue(SERVER, Valid::Now);
        let next = rig.folder.path().join("second");
        fs::create_dir(&next).unwrap();
        first_swapped.write(&next, &second);
        symlink("second", rig.folder.path().join("next")).unwrap();
        fs::rename(rig.folder.path().join("next"), rig.now()).unwrap();
        rig.until("the swap", |rig| rig.reloads("ok") == 1).await;
        under_load().await;
        assert_eq!(shown(&rig, &new).await, first_swapped.der());
        let identity = rig.authority.issue(CLIENT, Valid::Now);
        let stale = client(&second, Some(&identity));
        let refused = alert(rig.grpc, &stale).await;
        assert_eq!(refused, AlertDescription::UnknownCA);
        assert_eq!(rig.refused("unknown_issuer"), 1);

        let renamed = rig.authority.issue(SERVER, Valid::Now);
        rename_into(&rig.now(), &renamed, &rig.authority);
        eventually("the rename", async || {
            let stream = connect(rig.grpc, &old, SERVER).await.ok()?;
            let chain = stream.get_ref().1.peer_certificates().unwrap();
            (chain[0] == renamed.der()).then_some(())
        })
        .await;
        under_load().await;
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(load, rotate);
}

#[tokio::test]
async fn files_that_cannot_be_used_change_nothing() {
    let rig = Rig::mutual().await;
    let old = rig.client();
    let before = shown(&rig, &old).await;
    let next = rig.authority.issue(SERVER, Valid::Now);
    // The certificate is there before its key.
    fs::write(rig.now().join("tls.crt"), next.certificate_pem()).unwrap();
    rig.until("an error", |rig| 2 <= rig.reloads("error")).await;
    assert_eq!(shown(&rig, &old).await, before);
    fs::write(rig.now().join("tls.key"), next.key_pem()).unwrap();
    rig.until("the pair", |rig| rig.reloads("ok") == 1).await;
    assert_eq!(shown(&rig, &old).await, next.der());
    fs::remove_file(rig.now().join("ca.crt")).unwrap();
    let errors = rig.reloads("error");
    rig.until("an error", |rig| errors < rig.reloads("error"))
        .await;
    assert_eq!(shown(&rig, &old).await, next.der());
    let mut client = grpc(rig.grpc, &old).await;
    client.diagnose(quoted()).await.unwrap();
}
