//! Loading of settings from a file, the environment and flags.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::names::Names;
use super::{Config, ConfigError, DEFAULTS};

pub(super) const ENVIRONMENT_PREFIX: &str = "HOLDFAST_";

impl Config {
    /// Loads the settings. `environment` are the process's variables, `flags` pairs of `section.key` and value.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: &[(&str, String)],
    ) -> Result<Self, ConfigError> {
        let defaults: Table = DEFAULTS.parse().expect("the embedded defaults are TOML");
        let names = Names::of(DEFAULTS);
        let mut table = defaults.clone();
        if let Some(path) = file {
            lay_over(&mut table, read_file(path, &names)?);
        }
        let variables = environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        for (name, value) in variables.filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX)) {
            let value = value.into_string().map_err(|_| ConfigError(format!("{name}: this is not UTF-8")))?;
            let Some((section, key)) = names.of_variable(&name) else { return Err(names.unknown_variable(&name)) };
            // An empty secret must not turn authentication off, nor an empty address select another store.
            let may_be_empty = defaults.get(section).and_then(|keys| keys.get(key)).is_some_and(is_empty_text);
            if value.trim().is_empty() && !may_be_empty {
                return Err(ConfigError(format!("{name}: is empty; give it a value, or remove the variable")));
            }
            set(&mut table, section, key, &value);
        }
        for (name, value) in flags {
            let (section, key) = name.split_once('.').expect("flags are named section.key");
            set(&mut table, section, key, value);
        }
        let config: Self = serde_path_to_error::deserialize(Value::Table(table))
            .map_err(|error| ConfigError(format!("{}: {}", error.path(), one_line(error.inner()))))?;
        config.validate()?;
        Ok(config)
    }
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str() == Some("")
}

/// Reads a file with known settings only. An error names the file and the line.
fn read_file(path: &Path, names: &Names) -> Result<Table, ConfigError> {
    let file = path.display();
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|error| ConfigError(format!("cannot read {file}: {error}")))?;
    let line_of = |at: Range<usize>| 1 + text.bytes().take(at.start).filter(|byte| *byte == b'\n').count();
    let wrong = |error: &toml::de::Error| {
        let line = error.span().map_or(1, line_of);
        ConfigError(format!("{file}:{line}: {}", one_line(error)))
    };
    let parsed = DeTable::parse(&text).map_err(|error| wrong(&error))?;
    for (section, keys) in parsed.get_ref() {
        let place = format!("{file}:{}", line_of(section.span()));
        let section = section.get_ref();
        let DeValue::Table(keys) = keys.get_ref() else { return Err(names.unknown_setting(&place, section)) };
        if let Some((key, _)) = keys.iter().find(|(key, _)| !names.has(section, key.get_ref())) {
            let place = format!("{file}:{}", line_of(key.span()));
            return Err(names.unknown_setting(&place, &format!("{section}.{}", key.get_ref())));
        }
        if !names.has_section(section) {
            return Err(names.unknown_section(&place, section));
        }
    }
    text.parse().map_err(|error| wrong(&error))
}

fn lay_over(table: &mut Table, over: Table) {
    for (name, value) in over {
        match (table.get_mut(&name), value) {
            (Some(Value::Table(under)), Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                table.insert(name, value);
            }
        }
    }
}

/// Sets a value from the environment or a flag; it becomes a number if the default is one.
fn set(table: &mut Table, section: &str, key: &str, text: &str) {
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(section) = section else { return };
    let number = section.get(key).filter(|value| value.is_integer()).and_then(|_| text.parse().ok());
    section.insert(key.into(), number.map_or_else(|| Value::String(text.into()), Value::Integer));
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}
