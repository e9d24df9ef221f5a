//! From the command line to a start: program, arguments, environment.

use crate::args::Settings;
use crate::cgroup::Group;
use crate::name::{GROUP_VARIABLE, NAMESPACE_VARIABLE, TREE_VARIABLE, TreeName, pid_namespace};
use crate::spawn::{Launch, find_program};
use bakeoff_share::failure::Failure;
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Prepares the start of the command as a tree of this name in a group. Without one the child binds its CPUs itself.
///
/// # Errors
/// When the program is not found.
pub fn prepare(settings: &Settings, name: &TreeName, group: &dyn Group) -> Result<Launch, Failure> {
    let environment = environment(settings, name, group.inner());
    let path = environment.get(&OsString::from("PATH")).and_then(|path| path.to_str());
    let program = find_program(&settings.command[0], path).map_err(Failure::CannotRun)?;
    let c_string = |bytes: Vec<u8>| {
        CString::new(bytes)
            .map_err(|_| Failure::Usage("an argument or variable holds a zero byte".to_owned()))
    };
    let variables = environment.iter().map(|(key, value)| [key.as_bytes(), value.as_bytes()].join(&b'='));
    Ok(Launch {
        program,
        arguments: settings
            .command
            .iter()
            .map(|word| c_string(word.clone().into_bytes()))
            .collect::<Result<_, _>>()?,
        environment: variables.map(c_string).collect::<Result<_, _>>()?,
        cwd: settings.cwd.clone().map(|path| c_string(path.into_os_string().into_vec())).transpose()?,
        cpus: settings.cpus.clone().filter(|_| group.version() == "none"),
    })
}

fn environment(settings: &Settings, name: &TreeName, inner: Option<&str>) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> =
        if settings.clear_env { BTreeMap::new() } else { std::env::vars_os().collect() };
    environment.extend(settings.env.iter().map(|(key, value)| (key.into(), value.into())));
    environment.insert(TREE_VARIABLE.into(), name.to_string().into());
    if let Some(group) = inner {
        environment.insert(GROUP_VARIABLE.into(), group.into());
    }
    if let Some(number) = pid_namespace("self") {
        environment.insert(NAMESPACE_VARIABLE.into(), number.to_string().into());
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::NoGroup;
    use clap::Parser;

    #[test]
    fn the_environment_is_what_was_asked_for() {
        let line =
            ["bakeoff-exec", "--clear-env", "--env", "A=1=2", "--env", "PATH=/bin", "--", "sh", "-c", "x"];
        let name = TreeName::own(0);
        let launch = prepare(&Settings::parse_from(line), &name, &NoGroup).unwrap();
        let texts: Vec<&str> = launch.environment.iter().map(|text| text.to_str().unwrap()).collect();
        assert_eq!(texts[0], "A=1=2");
        assert_eq!(texts[1], format!("BAKEOFF_TREE={name}"));
        assert_eq!(texts.last(), Some(&"PATH=/bin"));
        assert_eq!(launch.program.to_str(), Ok("/bin/sh"));
        assert_eq!(launch.arguments.len(), 3);
    }
}
