use wasm_language::{argument, finish, result, startup};

fn fibonacci(n: u64) -> u64 {
    let (mut current, mut next) = (0, 1);
    for _ in 0..n {
        (current, next) = (next, current + next);
    }
    current
}

fn main() {
    startup();
    result(fibonacci(argument()));
    finish();
}
