//! Attempts against well-behaved and faulty receivers.

use holdfast_testkit::certificate::{CERTIFICATE, KEY};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use super::*;

fn sender(private_allowed: bool) -> Sender {
    Sender::new(AllowedAddresses::new(private_allowed, &[]), Duration::from_secs(10), Duration::from_secs(20))
}

fn delivery_request() -> DeliveryRequest {
    DeliveryRequest { id: "msg_1".into(), timestamp: 1, signature: "v1,x".into(), body: Bytes::from_static(b"{}") }
}

fn error_of(tried: &Tried) -> &str {
    match tried {
        Tried::Failed { status: None, error, retry_after: None } => error,
        other => panic!("{other:?}"),
    }
}

/// Reads a whole request with its body.
async fn read_request(socket: &mut (impl AsyncRead + Unpin)) {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n{}") {
        read.push(socket.read_u8().await.unwrap());
    }
}

/// Starts a receiver that sends these bytes after the first request, and keeps the connection open. Returns its port.
async fn spawn_receiver(response: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        socket.write_all(response).await.ok();
        // Keeps the connection open until the client closes it.
        socket.read_to_end(&mut Vec::new()).await.ok();
    });
    port
}

#[tokio::test]
async fn private_address_needs_permission() {
    let port = spawn_receiver(b"HTTP/1.1 204 No Content\r\n\r\n").await;
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let tried = sender(false).send(&format!("http://{host}:{port}/"), delivery_request()).await;
        assert_eq!(error_of(&tried), "the address is private", "{host}");
    }
    let tried = sender(true).send(&format!("http://127.0.0.1:{port}/"), delivery_request()).await;
    assert_eq!(tried, Tried::Accepted { status: 204 }, "the refused attempts did not connect");
}

#[tokio::test]
async fn invalid_response_fails_with_reason() {
    let port = spawn_receiver(b"SSH-2.0-x\r\n").await;
    let tried = sender(true).send(&format!("http://127.0.0.1:{port}/"), delivery_request()).await;
    assert!(error_of(&tried).starts_with("no valid answer: "), "{tried:?}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let tried = sender(true).send(&format!("http://{closed}/"), delivery_request()).await;
    assert_eq!(error_of(&tried), "cannot connect: connection refused");
}

#[tokio::test]
async fn silent_receiver_times_out() {
    let port = spawn_receiver(b"").await;
    let impatient = Sender { timeout: Duration::from_millis(50), ..sender(true) };
    let tried = impatient.send(&format!("http://127.0.0.1:{port}/"), delivery_request()).await;
    assert_eq!(error_of(&tried), "no answer within 50ms");
}

#[tokio::test]
async fn endless_response_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let writing = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9999999999\r\n\r\n").await.unwrap();
        let mut written = 0_u64;
        while let Ok(count) = socket.write(&[b'x'; 4_096]).await {
            written += count as u64;
        }
        written
    });
    let tried = sender(true).send(&format!("http://127.0.0.1:{port}/"), delivery_request()).await;
    assert_eq!(tried, Tried::Accepted { status: 200 });
    assert!(writing.await.unwrap() < 9_999_999_999, "the connection was closed");
}

#[tokio::test]
async fn https_needs_trusted_certificate_for_name() {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    let (acceptor, listener) = (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            read_request(&mut socket).await;
            socket.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.ok();
            socket.shutdown().await.ok();
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let trusting = sender(true).trusting(roots);
    let tried = trusting.send(&format!("https://localhost:{port}/"), delivery_request()).await;
    assert_eq!(tried, Tried::Accepted { status: 202 });
    let tried = trusting.send(&format!("https://127.0.0.1:{port}/"), delivery_request()).await;
    assert!(error_of(&tried).starts_with("TLS: "), "another name: {tried:?}");
    let tried = sender(true)
        .trusting(RootCertStore::empty())
        .send(&format!("https://localhost:{port}/"), delivery_request())
        .await;
    assert!(error_of(&tried).starts_with("TLS: "), "not trusted: {tried:?}");
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let sent_at = 784_111_777 - 60;
    let wait =
        |text: &str| retry_after(&HeaderValue::from_str(text).unwrap(), sent_at).map(|wait| wait.as_millis() / 1_000);
    assert_eq!((wait("120"), wait(" 1 ")), (Some(120), Some(1)));
    assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(60));
    for long in ["86401", "99999999999999999999", "Sat, 06 Nov 2094 08:49:37 GMT"] {
        assert_eq!(wait(long), Some(24 * 3_600), "{long}");
    }
    for none in ["", "0", "-5", "1.5", "soon", "Sun, 06 Nov 1994 08:48:37 GMT", "1994-11-06T08:49:37Z"] {
        assert_eq!(wait(none), None, "{none}");
    }
}
