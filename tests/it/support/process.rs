//! The real binary as a process that ends with its test.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use judge_cascade::client::Client;

/// Ten times what anything here should take on a slow machine.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// The binary with an empty environment.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_judge-cascade"));
    command.env_clear().args(args).stdin(Stdio::null());
    command
}

/// Runs the binary to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A file of the fixtures.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// Asks again and again until there is an answer.
pub(crate) async fn eventually<T>(what: &str, mut answer: impl AsyncFnMut() -> Option<T>) -> T {
    let polls = GUARD.as_millis() / 10;
    for _ in 0..polls {
        if let Some(answer) = answer().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain for {what}");
}

/// A sidecar on free ports.
pub(crate) struct Sidecar {
    child: Child,
    log: Mutex<mpsc::Receiver<String>>,
    pub(crate) endpoint: String,
    pub(crate) admin: String,
    /// Where it speaks HTTP, if it does.
    pub(crate) http: Option<String>,
}

impl Sidecar {
    /// Starts `serve` and waits until it serves.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    /// The same with an environment.
    pub(crate) fn start_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut all = vec!["serve", "--admin-listen", "127.0.0.1:0"];
        if !args.contains(&"--uds") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        all.extend(args);
        let mut serve = command(&all);
        serve.envs(environment.iter().copied());
        Self::spawn(serve)
    }

    /// Runs a command that serves with JSON logs, and waits until it does.
    pub(crate) fn spawn(mut serve: Command) -> Self {
        let mut child = serve.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        let mut seen = Vec::new();
        loop {
            match lines.recv_timeout(GUARD) {
                Ok(line) if line.contains("\"message\":\"serving\"") => {
                    let log: serde_json::Value = serde_json::from_str(&line).unwrap();
                    let field = |name: &str| log[name].as_str().unwrap().to_owned();
                    return Self {
                        child,
                        log: Mutex::new(lines),
                        endpoint: field("listen"),
                        admin: field("admin"),
                        http: log["http"].as_str().map(str::to_owned),
                    };
                }
                Ok(line) => seen.push(line),
                Err(_) => panic!("the sidecar did not start: {seen:?}"),
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged since it serves, to its end.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().collect()
    }

    /// Waits for a line of the log with this in it.
    pub(crate) fn logs(&self, part: &str) {
        let lines = self.log.lock().unwrap();
        let line = || lines.recv_timeout(GUARD).unwrap();
        while !line().contains(part) {}
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.endpoint).await.unwrap()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
    }

    /// Waits for the end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = async || self.child.try_wait().unwrap();
        eventually("the end of the sidecar", ended).await
    }

    /// Waits until a series has a value.
    pub(crate) async fn reaches(&self, name_and_labels: &str, value: f64) {
        let reached = async || {
            let series = self.series(name_and_labels).await;
            series.filter(|series| *series >= value)
        };
        eventually(name_and_labels, reached).await;
    }

    /// What an admin route answers: status line and body.
    pub(crate) async fn admin(&self, route: &str) -> (String, String) {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut socket = tokio::net::TcpStream::connect(&self.admin).await.unwrap();
        let request = format!("GET {route} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// The value of one series, or nothing if there is none.
    pub(crate) async fn series(&self, name_and_labels: &str) -> Option<f64> {
        let (_, text) = self.admin("/metrics").await;
        let rest = |line: &str| line.strip_prefix(name_and_labels).map(str::to_owned);
        text.lines()
            .filter_map(rest)
            .find_map(|rest| rest.strip_prefix(' ')?.parse().ok())
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
