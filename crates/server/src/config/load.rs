//! Loading of settings from a file, the environment and flags.

use std::ffi::OsString;
use std::path::Path;

use toml::{Table, Value};

use super::{Config, ConfigError, DEFAULTS};

const ENVIRONMENT_PREFIX: &str = "HOLDFAST_";

impl Config {
    /// Loads the settings. `environment` are the process's variables, `flags` pairs of `section.key` and value.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: &[(&str, String)],
    ) -> Result<Self, ConfigError> {
        let defaults: Table = DEFAULTS.parse().expect("the embedded defaults are TOML");
        let mut table = defaults.clone();
        if let Some(path) = file {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|error| ConfigError(format!("cannot read {}: {error}", path.display())))?;
            let parsed: Result<Table, _> = text.parse();
            let over = parsed.map_err(|error| ConfigError(format!("{}: {}", path.display(), one_line(&error))))?;
            lay_over(&mut table, over);
        }
        let named = environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        for (name, value) in named.filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX)) {
            let value = value.into_string().map_err(|_| ConfigError(format!("{name}: this is not UTF-8")))?;
            let spelled = name[ENVIRONMENT_PREFIX.len()..].to_lowercase();
            let Some((section, key)) = spelled.split_once('_') else {
                return Err(ConfigError(format!("{name}: there is no such setting; see holdfast.toml")));
            };
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
        check_sections(&table)?;
        let config: Self = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| explain(&error))?;
        config.validate()?;
        Ok(config)
    }
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str() == Some("")
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

/// Rejects an unknown section. The error names the first setting in it.
fn check_sections(table: &Table) -> Result<(), ConfigError> {
    let known: Table = DEFAULTS.parse().expect("the embedded defaults are TOML");
    let Some((section, value)) = table.iter().find(|(name, _)| !known.contains_key(*name)) else { return Ok(()) };
    let key = value.as_table().and_then(|keys| keys.keys().next());
    let full = key.map_or_else(|| section.clone(), |key| format!("{section}.{key}"));
    Err(ConfigError(format!("{full}: there is no such setting; see holdfast.toml")))
}

fn explain(error: &serde_path_to_error::Error<toml::de::Error>) -> ConfigError {
    let message = one_line(error.inner());
    let path = error.path().to_string();
    match message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => {
            let section = path.strip_suffix(name).unwrap_or(&path).trim_end_matches('.');
            let full = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            ConfigError(format!("{full}: there is no such setting; see holdfast.toml"))
        }
        None => ConfigError(format!("{path}: {message}")),
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}
