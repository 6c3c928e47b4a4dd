//! The embedded store on a disk that is full: reads go on, writes are refused, and a killed server starts again.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_client::{Client, HoldStatus, Method, NewEvent, NewRoomType, RoomType};
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::{NIGHT, Process, holdfast, new_hold};

/// Size of the disk: the reserve of 16 MiB, and room for the rest.
const DISK: &str = "size=40m";
/// Time for a server to notice that the disk is full, or no longer is.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// A file system of its own in a mount namespace that ends with this process. Servers on it are started in the namespace.
struct Disk {
    directory: TempDir,
    keeper: Child,
    fillers: u32,
}

impl Disk {
    fn mount() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut unshare = Command::new("unshare");
        unshare.arg("--mount");
        if !rustix::process::geteuid().is_root() {
            unshare.arg("--map-root-user");
        }
        let script = r#"mount -t tmpfs -o "$1" tmpfs "$0" && echo mounted && read -r _"#;
        unshare.args(["sh", "-c", script]).arg(directory.path()).arg(DISK);
        let mut keeper = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare is installed");
        let mut line = String::new();
        BufReader::new(keeper.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let needed =
            "this test needs a disk that it can fill: run it as root, or allow user namespaces (unshare --mount)";
        assert_eq!(line.trim(), "mounted", "{needed}");
        Self { directory, keeper, fillers: 0 }
    }

    /// A path on the disk, as seen from outside of the namespace.
    fn path(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(self.directory.path().strip_prefix("/").unwrap()).join(name)
    }

    /// The program, to be run on the disk.
    fn holdfast(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &self.keeper.id().to_string()]);
        if !rustix::process::geteuid().is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        let program = holdfast();
        command.arg("--").arg(program.get_program()).args(arguments);
        command.arg("--data").arg(self.directory.path().join("data"));
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Process {
        Process::spawn(&mut self.holdfast(&["serve", "--listen", "127.0.0.1:0"]))
    }

    /// Writes until no byte is left.
    fn fill(&mut self) {
        self.fillers += 1;
        let mut file = File::create(self.path(&format!("filler{}", self.fillers))).unwrap();
        for size in [1 << 20, 4_096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
    }

    fn free(&mut self) {
        for number in 1..=self.fillers {
            std::fs::remove_file(self.path(&format!("filler{number}"))).unwrap();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}

/// Holds that were answered with success.
#[derive(Default)]
struct Acknowledged {
    users: u64,
    holds: Vec<(u64, Uuid)>,
}

impl Acknowledged {
    /// Places a hold of another user; returns whether the server took it. A refusal has to say "nothing was changed".
    async fn place(&mut self, server: &Client, room_type: &RoomType) -> bool {
        self.users += 1;
        let request = server.as_user(self.users).request(Method::POST, "/v1/holds").header("accept-language", "en");
        let answer = request.json(&new_hold(room_type, NIGHT)).send().await.unwrap();
        let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await.unwrap());
        if status == 201 {
            self.holds.push((self.users, body["holdId"].as_str().unwrap().parse().unwrap()));
            return true;
        }
        assert_eq!((status, body["code"].as_str().unwrap()), (503, "STORE_UNAVAILABLE"), "{body}");
        assert!(body["detail"].as_str().unwrap().contains("nothing was changed"), "{body}");
        false
    }

    async fn check(&self, server: &Client, room_type: &RoomType) {
        for (user, id) in &self.holds {
            let status = server.as_user(*user).hold(*id).await.unwrap().status;
            assert_eq!(status, HoldStatus::Held, "an acknowledged hold is there");
        }
        let nights = server.availability(room_type.id, NIGHT, NIGHT.tomorrow().unwrap()).await.unwrap().nights;
        assert_eq!(nights[0].hold_count as usize, self.holds.len(), "a refused hold counts nowhere");
    }
}

/// Status, and the body of `/readyz`.
async fn ready(server: &Client) -> (u16, Value) {
    let answer = server.request(Method::GET, "/readyz").send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn until_ready_is(server: &Client, status: u16) -> Value {
    let began = Instant::now();
    loop {
        match ready(server).await {
            (found, body) if found == status => return body,
            (found, body) => assert!(began.elapsed() < DETECTION_TIMEOUT, "{found} {body}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_refuses_writes_and_survives_kills() {
    let mut disk = Disk::mount();
    let mut process = disk.start();
    let mut server = process.client();
    let room_type = server.create_room_type(&NewRoomType::new("객실", 1_000_000, 1)).await.unwrap();
    let mut told = Acknowledged::default();
    for _ in 0..50 {
        assert!(told.place(&server, &room_type).await);
    }
    let event = server.create_event(&NewEvent::with_row("콘서트", 50, 1)).await.unwrap().id;
    let place = server.as_user(1).join_queue(event).await.unwrap();

    // Small writes may still fit into what the log has already.
    disk.fill();
    let began = Instant::now();
    let mut refused = 0;
    while refused < 20 {
        assert!(began.elapsed() < DETECTION_TIMEOUT, "writes are refused on a full disk");
        if !told.place(&server, &room_type).await {
            refused += 1;
        }
    }
    let mut user = 1;
    while server.as_user(user).join_queue(event).await.is_ok() {
        user += 1;
        assert!(began.elapsed() < DETECTION_TIMEOUT, "joining a queue is refused on a full disk");
    }
    told.check(&server, &room_type).await;

    for _ in 0..4 {
        process.kill_9();
        // The next start has to make this file anew, and what was freed meanwhile belongs to another program.
        std::fs::remove_file(disk.path("data/holdfast.db-shm")).ok();
        disk.fill();
        process = disk.start();
        server = process.client();
        let body = until_ready_is(&server, 503).await;
        assert!(body["store"].as_str().unwrap().contains("the disk is full: free space on"), "{body}");
        told.check(&server, &room_type).await;
        assert_eq!(server.as_user(1).poll_queue(event).await.unwrap().status, place.status);
        assert!(!told.place(&server, &room_type).await, "writes are refused until the reserve is whole");
    }

    disk.free();
    until_ready_is(&server, 200).await;
    assert!(told.place(&server, &room_type).await);
    server.as_user(1_000_000).join_queue(event).await.unwrap();
    told.check(&server, &room_type).await;
    drop(process);
    let mut verify = disk.holdfast(&["verify"]);
    let output = verify.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn full_disk_without_reserve_names_the_remedy() {
    let mut disk = Disk::mount();
    drop(disk.start());
    for name in ["holdfast.reserve", "holdfast.db-shm"] {
        std::fs::remove_file(disk.path("data").join(name)).ok();
    }
    disk.fill();
    let output = disk.holdfast(&["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("the disk is full: free space on"), "{error}");
    assert_eq!(error.trim().lines().count(), 1, "{error}");
}
