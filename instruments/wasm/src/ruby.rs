//! Running a CRuby that was built as a reactor for JavaScript: what its JavaScript host does, without JavaScript.
//!
//! Such a module has no `_start`. It is initialised, told its arguments, and then given text to evaluate.

use crate::engine::Instance;
use crate::stop::Stop;

/// The export by which such a module is known.
pub const INIT: &str = "ruby-init: func(args: list<string>) -> ()";
const EVALUATE: &str = "rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>";
/// The arguments that its JavaScript host gives.
const ARGUMENTS: [&str; 3] = ["ruby.wasm\0", "-EUTF-8\0", "-e_=0\0"];

/// What tells of an exception, which a JavaScript host would do.
const REPORT: &str = "rescue Exception => e\nSTDERR.puts e.full_message(highlight: false)\nraise";

/// Initialises the module and evaluates the texts in their order. What a text raises goes to standard error; its output is
/// flushed, because the module never ends by itself.
///
/// # Errors
/// What ended the module; exit code 1 if a text raised something.
pub fn run(instance: &mut dyn Instance, texts: &[String]) -> Result<(), Stop> {
    instance.call("_initialize", &[])?;
    let list = allocate(instance, 4, ARGUMENTS.len() as i32 * 8)?;
    for (index, argument) in ARGUMENTS.iter().enumerate() {
        let (at, length) = string(instance, argument)?;
        let place = list.wrapping_add(index as i32 * 8);
        write(instance, place, &at.to_le_bytes())?;
        write(instance, place.wrapping_add(4), &length.to_le_bytes())?;
    }
    instance.call(INIT, &[list, ARGUMENTS.len() as i32])?;
    for text in texts {
        let guarded = format!("begin\n{text}\n{REPORT}\nensure\n$stdout.flush\nend");
        let (at, length) = string(instance, &guarded)?;
        let answer = instance.call(EVALUATE, &[at, length])?;
        let answer = answer.ok_or_else(|| Stop::Fault("the evaluation gave nothing".to_owned()))?;
        // A pair: a handle, and 0 unless something was raised.
        if read(instance, answer.wrapping_add(4))? != 0 {
            return Err(Stop::Exit(1));
        }
    }
    Ok(())
}

fn allocate(instance: &mut dyn Instance, alignment: i32, bytes: i32) -> Result<i32, Stop> {
    let place = instance.call("cabi_realloc", &[0, 0, alignment, bytes])?;
    place.ok_or_else(|| Stop::Fault("cabi_realloc gave nothing".to_owned()))
}

fn string(instance: &mut dyn Instance, text: &str) -> Result<(i32, i32), Stop> {
    let place = allocate(instance, 1, text.len() as i32)?;
    write(instance, place, text.as_bytes())?;
    Ok((place, text.len() as i32))
}

fn write(instance: &mut dyn Instance, place: i32, bytes: &[u8]) -> Result<(), Stop> {
    let start = place as u32 as usize;
    let target = instance.memory().get_mut(start..start + bytes.len());
    target
        .ok_or_else(|| Stop::Fault("the module gave a place outside its memory".to_owned()))?
        .copy_from_slice(bytes);
    Ok(())
}

fn read(instance: &mut dyn Instance, place: i32) -> Result<i32, Stop> {
    let start = place as u32 as usize;
    match instance.memory().get(start..start + 4) {
        Some(&[a, b, c, d]) => Ok(i32::from_le_bytes([a, b, c, d])),
        _ => Err(Stop::Fault("the module gave a place outside its memory".to_owned())),
    }
}
