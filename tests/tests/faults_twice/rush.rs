//! Processes of their own that send the same request many times at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use vidimus_tests::processes::Binary;

/// One process.
pub struct Rush {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// An answer: its status and its text.
pub type Answer = (u16, String);

impl Rush {
    pub fn start(url: &str, bearer: &str, count: usize) -> Rush {
        let mut command = Command::new(Binary::path("vidimus-rush").expect("the program"));
        command.args([url, bearer, &count.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let (input, output) = (child.stdin.take().expect("an input"), child.stdout.take().expect("an output"));
        Rush { child, input, output: BufReader::new(output) }
    }

    /// Sends; the answers are read afterwards, so that several processes send at once.
    pub fn send(&mut self, path: &str, body: &str) {
        writeln!(self.input, "{path} {}", body.replace('\n', " ")).expect("it reads");
    }

    pub fn answers(&mut self) -> Vec<Answer> {
        let mut found = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("an answer") > 0, "the process ended");
            if line.trim().is_empty() {
                return found;
            }
            let (status, text) = line.trim_end().split_once(' ').expect("a status");
            found.push((status.parse().expect("a status"), text.to_owned()));
        }
    }
}

impl Drop for Rush {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the same by all of them at once, and gives every answer.
pub fn all_at_once(processes: &mut [Rush], path: &str, body: &str) -> Vec<Answer> {
    for process in processes.iter_mut() {
        process.send(path, body);
    }
    processes.iter_mut().flat_map(Rush::answers).collect()
}
