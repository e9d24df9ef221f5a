;; Makes a WASI command out of CRuby as ruby.wasm builds it for a JavaScript host. wasm-merge joins this module, as
;; "rb-js-abi-host", with the interpreter, "ruby". Of JavaScript there is only what the program needs:
;; JS.eval("startup") and JS.eval("finish") call the two host functions of the instrument; all other texts give handle 0.
(module
  (import "bakeoff" "startup" (func $startup))
  (import "bakeoff" "finish" (func $finish))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "ruby" "memory" (memory 1))
  (import "ruby" "_initialize" (func $initialize))
  (import "ruby" "cabi_realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
  (import "ruby" "ruby-init: func(args: list<string>) -> ()" (func $ruby_init (param i32 i32)))
  (import "ruby" "rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>"
    (func $eval (param i32 i32) (result i32)))

  ;; Written by merge.py: the program, and its length as the global $length.
  (data $program "@PROGRAM@")
  (global $length i32 (i32.const @LENGTH@))
  ;; What ruby.wasm's own host gives, each with a NUL. What follows -e is the program's ARGV.
  (data $options "ruby\00--disable-gems\00-EUTF-8\00-e_=0\00")

  (func $allocate (param $size i32) (result i32)
    (call $realloc (i32.const 0) (i32.const 0) (i32.const 8) (local.get $size)))

  ;; Writes an entry of a list of strings: place and length, the NUL counted.
  (func $string (param $entry i32) (param $text i32) (result i32)
    (local $end i32)
    (local.set $end (local.get $text))
    (loop $next
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (br_if $next (i32.load8_u (i32.sub (local.get $end) (i32.const 1)))))
    (i32.store (local.get $entry) (local.get $text))
    (i32.store offset=4 (local.get $entry) (i32.sub (local.get $end) (local.get $text)))
    (local.get $end))

  (func (export "_start")
    (local $sizes i32) (local $count i32) (local $pointers i32) (local $list i32) (local $entry i32) (local $text i32) (local $i i32)
    (call $initialize)
    (local.set $sizes (call $allocate (i32.const 8)))
    (drop (call $args_sizes_get (local.get $sizes) (i32.add (local.get $sizes) (i32.const 4))))
    (local.set $count (i32.load (local.get $sizes)))
    (local.set $pointers (call $allocate (i32.mul (local.get $count) (i32.const 4))))
    (drop (call $args_get (local.get $pointers) (call $allocate (i32.load offset=4 (local.get $sizes)))))
    ;; The four options, then the command's words but the first.
    (local.set $list (call $allocate (i32.mul (i32.add (local.get $count) (i32.const 3)) (i32.const 8))))
    (local.set $entry (local.get $list))
    (local.set $text (call $allocate (i32.const 36)))
    (memory.init $options (local.get $text) (i32.const 0) (i32.const 34))
    (loop $option
      (local.set $text (call $string (local.get $entry) (local.get $text)))
      (local.set $entry (i32.add (local.get $entry) (i32.const 8)))
      (br_if $option (i32.lt_u (local.get $entry) (i32.add (local.get $list) (i32.const 32)))))
    (local.set $i (i32.const 1))
    (block $done
      (loop $argument
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (drop (call $string (local.get $entry)
          (i32.load (i32.add (local.get $pointers) (i32.mul (local.get $i) (i32.const 4))))))
        (local.set $entry (i32.add (local.get $entry) (i32.const 8)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $argument)))
    (call $ruby_init (local.get $list) (i32.add (local.get $count) (i32.const 3)))
    (local.set $text (call $allocate (global.get $length)))
    (memory.init $program (local.get $text) (i32.const 0) (global.get $length))
    ;; The answer is a pair: a handle, and 0 unless something was raised.
    (if (i32.load offset=4 (call $eval (local.get $text) (global.get $length)))
      (then (call $proc_exit (i32.const 1)))))

  (func (export "eval-js: func(code: string) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }")
    (param $text i32) (param $length i32) (param $answer i32)
    (if (i32.and (i32.eq (local.get $length) (i32.const 7)) (i32.eq (i32.load8_u (local.get $text)) (i32.const 115))) ;; startup
      (then (call $startup)))
    (if (i32.and (i32.eq (local.get $length) (i32.const 6)) (i32.eq (i32.load8_u (local.get $text)) (i32.const 102))) ;; finish
      (then (call $finish)))
    (i64.store (local.get $answer) (i64.const 0)))

  ;; JavaScript that no program here uses.
  (func (export "rb_wasm_throw_prohibit_rewind_exception") (param i32 i32) unreachable)
  (func (export "is-js: func(value: handle<js-abi-value>) -> bool") (param i32) (result i32) (i32.const 0))
  (func (export "instance-of: func(value: handle<js-abi-value>, klass: handle<js-abi-value>) -> bool") (param i32 i32) (result i32) (i32.const 0))
  (func (export "global-this: func() -> handle<js-abi-value>") (result i32) (i32.const 0))
  (func (export "int-to-js-number: func(value: s32) -> handle<js-abi-value>") (param i32) (result i32) (i32.const 0))
  (func (export "float-to-js-number: func(value: float64) -> handle<js-abi-value>") (param f64) (result i32) (i32.const 0))
  (func (export "string-to-js-string: func(value: string) -> handle<js-abi-value>") (param i32 i32) (result i32) (i32.const 0))
  (func (export "bool-to-js-bool: func(value: bool) -> handle<js-abi-value>") (param i32) (result i32) (i32.const 0))
  (func (export "proc-to-js-function: func(value: u32) -> handle<js-abi-value>") (param i32) (result i32) (i32.const 0))
  (func (export "rb-object-to-js-rb-value: func(raw-rb-abi-value: u32) -> handle<js-abi-value>") (param i32) (result i32) (i32.const 0))
  (func (export "js-value-to-string: func(value: handle<js-abi-value>) -> string") (param i32 i32) unreachable)
  (func (export "js-value-to-integer: func(value: handle<js-abi-value>) -> variant { as-float(float64), bignum(string) }") (param i32 i32) unreachable)
  (func (export "export-js-value-to-host: func(value: handle<js-abi-value>) -> ()") (param i32) unreachable)
  (func (export "import-js-value-from-host: func() -> handle<js-abi-value>") (result i32) unreachable)
  (func (export "js-value-typeof: func(value: handle<js-abi-value>) -> string") (param i32 i32) unreachable)
  (func (export "js-value-equal: func(lhs: handle<js-abi-value>, rhs: handle<js-abi-value>) -> bool") (param i32 i32) (result i32) unreachable)
  (func (export "js-value-strictly-equal: func(lhs: handle<js-abi-value>, rhs: handle<js-abi-value>) -> bool") (param i32 i32) (result i32) unreachable)
  (func (export "reflect-apply: func(target: handle<js-abi-value>, this-argument: handle<js-abi-value>, arguments: list<handle<js-abi-value>>) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }") (param i32 i32 i32 i32 i32) unreachable)
  (func (export "reflect-get: func(target: handle<js-abi-value>, property-key: string) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }") (param i32 i32 i32 i32) unreachable)
  (func (export "reflect-set: func(target: handle<js-abi-value>, property-key: string, value: handle<js-abi-value>) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }") (param i32 i32 i32 i32 i32) unreachable)
)
