//! One process, the same module a thousand times: nothing piles up.

mod common;

use common::{Module, engines};

const REPLICATIONS: usize = 1000;
/// Growth that is noise: an allocator that takes one more piece.
const ALLOWED: u64 = 1 << 20;

#[test]
fn a_thousand_replications_do_not_grow() {
    let module = Module::new(
        r#"(data (i32.const 16) "out") (data (i32.const 64) "\80\00\00\00\00\10\00\00")
           (func (export "_start") (call $startup)
               (drop (memory.grow (i32.const 20))) (memory.fill (i32.const 0x10000) (i32.const 1) (i32.const 0x100000))
               (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 16) (i32.const 3) (i32.const 1)
                   (i64.const 0x42) (i64.const 0) (i32.const 0) (i32.const 8)))
               (drop (call $fd_write (i32.load (i32.const 8)) (i32.const 64) (i32.const 1) (i32.const 12)))
               (drop (call $fd_write (i32.const 1) (i32.const 64) (i32.const 1) (i32.const 12)))
               (call $finish))"#,
    );
    for engine in engines() {
        let told = module.run(&[
            "--engine",
            &engine,
            "--fresh-dir",
            ".",
            "--replications",
            &REPLICATIONS.to_string(),
        ]);
        assert!(told.replications.iter().all(|one| one["exit"] == 0), "{engine}: {:?}", told.replications[0]);
        let resident: Vec<u64> =
            told.replications.iter().map(|one| one["resident_bytes"].as_u64().unwrap()).collect();
        let most = |part: &[u64]| part.iter().copied().max().unwrap();
        let (early, late) = (most(&resident[100..200]), most(&resident[REPLICATIONS - 100..]));
        println!(
            "{engine}: resident {} KiB after 200 replications, {} KiB after 1000",
            early >> 10,
            late >> 10
        );
        assert!(late <= early + ALLOWED, "{engine}: {early} bytes grew to {late}");
    }
}
