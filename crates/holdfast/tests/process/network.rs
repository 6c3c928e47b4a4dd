//! Network between a server and the ones that it uses, which a test can interrupt as a network that drops packets does.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The way of a server to another one. It can be interrupted without closing a connection.
pub(crate) struct Link {
    url: String,
    is_cut: watch::Sender<bool>,
    tasks: Arc<Mutex<Vec<tokio::task::JoinHandle<()>>>>,
}

impl Link {
    /// Forwards to the port of an address.
    pub(crate) async fn to(address: &str) -> Self {
        let mut url: reqwest::Url = address.parse().unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (is_cut, tasks) = (watch::Sender::new(false), Arc::new(Mutex::new(Vec::new())));
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let link = Self { url: url.into(), is_cut, tasks: tasks.clone() };
        let cut = link.is_cut.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let forwarding = forward(near, port, cut.subscribe());
                tasks.lock().unwrap().push(tokio::spawn(forwarding));
            }
        });
        link
    }

    /// The address of the link.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Forwards new connections; those from before end.
    pub(crate) fn restore(&self) {
        self.tasks.lock().unwrap().drain(..).for_each(|task| task.abort());
        self.is_cut.send_replace(false);
    }
}

async fn forward(near: TcpStream, port: u16, cut: watch::Receiver<bool>) {
    let mut uncut = cut.clone();
    uncut.wait_for(|is_cut| !is_cut).await.ok();
    let far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    let copy = async |mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf| {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            if *cut.borrow() {
                std::future::pending::<()>().await;
            }
            if to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(copy(near_read, far_write), copy(far_read, near_write));
}
