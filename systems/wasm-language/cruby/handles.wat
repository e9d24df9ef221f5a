;; Handles of Ruby's values are the values themselves, and handles of JavaScript's are nothing. wasm-merge knows this as "canonical_abi".
(module
  (func (export "resource_drop_js-abi-value") (param i32))
  (func (export "resource_new_rb-abi-value") (param i32) (result i32) (local.get 0))
  (func (export "resource_get_rb-abi-value") (param i32) (result i32) (local.get 0)))
