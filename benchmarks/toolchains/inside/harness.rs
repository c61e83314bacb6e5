// Runs tests one after another and prints a test's key once it has passed; rust.py fills in @...@ and declares modules.
use std::io::Write;

trait Outcome {
    fn problem(self) -> Option<String>;
}
impl Outcome for () {
    fn problem(self) -> Option<String> {
        None
    }
}
impl<E: std::fmt::Debug> Outcome for Result<(), E> {
    fn problem(self) -> Option<String> {
        self.err().map(|error| format!("{:?}", error))
    }
}

fn checked<T: Outcome>(number: usize, panics: bool, test: fn() -> T, mask: [u8; 32], rest: [u8; 32]) {
    let ended = std::panic::catch_unwind(test);
    let problem = match ended {
        Ok(_) if panics => Some("it does not panic".to_string()),
        Ok(value) => value.problem(),
        Err(_) if panics => None,
        Err(cause) => Some(
            cause.downcast_ref::<String>().cloned().or_else(|| cause.downcast_ref::<&str>().map(|text| text.to_string()))
                .unwrap_or_else(|| "it panics".to_string()),
        ),
    };
    let mut out = std::io::stdout();
    if let Some(text) = problem {
        let _ = writeln!(out, "\n# {} {}", number, text.replace('\n', " "));
    } else {
        let mut key = vec![b'\n'];
        key.extend(mask.iter().zip(rest.iter()).map(|(a, b)| a ^ b));
        key.push(b'\n');
        let _ = out.write_all(&key);
    }
    let _ = out.flush();
}

fn main() {
@CALLS@
}
