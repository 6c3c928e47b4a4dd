//! Embeds the pages into the binary. Every file of `assets` and `vendor` is embedded, plain and
//! compressed. Every text of `texts` becomes a field for templates and an entry of a module for scripts.
//!
//! All files share one version, a hash of their contents. It is part of their URLs, so browsers may cache them for ever,
//! and modules import each other by relative paths.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let console = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    for part in ["assets", "vendor", "texts", "templates"] {
        println!("cargo::rerun-if-changed={}", console.join(part).display());
    }
    let texts = read_texts(&console.join("texts"))?;
    fs::write(out.join("texts.rs"), texts_as_rust(&texts))?;

    let mut files = BTreeMap::new();
    collect(&console.join("assets"), "", &mut files)?;
    collect(&console.join("vendor"), "vendor/", &mut files)?;
    for (language, pick) in [("ko", 0), ("en", 1)] {
        files.insert(format!("texts.{language}.js"), texts_as_script(&texts, pick).into_bytes());
    }
    fs::write(out.join("assets.rs"), embed(&files, &out)?)
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if entry.path().extension().is_some_and(|kind| kind != "md") || name.ends_with("LICENSE") {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn embed(files: &BTreeMap<String, Vec<u8>>, out: &Path) -> io::Result<String> {
    let mut code = String::new();
    let mut version = 0xcbf2_9ce4_8422_2325_u64;
    for (number, (name, plain)) in files.iter().enumerate() {
        for byte in name.bytes().chain(plain.iter().copied()) {
            version = (version ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(plain)?;
        fs::write(out.join(format!("{number}.plain")), plain)?;
        fs::write(out.join(format!("{number}.gz")), gzip.finish()?)?;
        let file = |kind: &str| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{number}.{kind}\"))");
        writeln!(code, "    Asset {{ name: {name:?}, plain: {}, gzip: {} }},", file("plain"), file("gz"))
            .expect("writing to a string");
    }
    Ok(format!("pub const VERSION: &str = \"{version:016x}\";\nstatic ASSETS: &[Asset] = &[\n{code}];\n"))
}

/// Reads all texts: `now = ["지금", "Now"]` in `[nav]` is the text `nav_now`, Korean first.
fn read_texts(folder: &Path) -> io::Result<BTreeMap<String, [String; 2]>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let wrong = |what: &str| io::Error::other(format!("{}: {what}", path.display()));
        let table: toml::Table = fs::read_to_string(&path)?.parse().map_err(|error| wrong(&format!("{error}")))?;
        for (section, lines) in table {
            let lines = lines.as_table().ok_or_else(|| wrong(&format!("{section} is not a table")))?;
            for (key, value) in lines {
                let pair: Option<Vec<&str>> =
                    value.as_array().and_then(|pair| pair.iter().map(|it| it.as_str()).collect());
                let Some([korean, english]) = pair.as_deref() else {
                    return Err(wrong(&format!("{section}.{key} is not [\"한국어\", \"English\"]")));
                };
                let known = texts.insert(format!("{section}_{key}"), [(*korean).to_owned(), (*english).to_owned()]);
                if known.is_some() {
                    return Err(wrong(&format!("{section}.{key} is defined twice")));
                }
            }
        }
    }
    Ok(texts)
}

fn texts_as_rust(texts: &BTreeMap<String, [String; 2]>) -> String {
    let mut code = String::from(
        "#[allow(non_snake_case)] // states have their names of the API\n#[derive(Debug)]\npub struct Texts {\n",
    );
    for name in texts.keys() {
        writeln!(code, "    pub {name}: &'static str,").expect("writing to a string");
    }
    code.push_str("}\n");
    for (number, language) in ["KOREAN", "ENGLISH"].into_iter().enumerate() {
        writeln!(code, "static {language}: Texts = Texts {{").expect("writing to a string");
        for (name, pair) in texts {
            writeln!(code, "    {name}: {:?},", pair[number]).expect("writing to a string");
        }
        code.push_str("};\n");
    }
    // For texts whose name is known only at run time, such as those of states.
    code.push_str(
        "impl Texts {\n    #[allow(clippy::too_many_lines)] // one for each text\n    pub fn get(&self, name: &str) -> Option<&'static str> {\n        Some(match name {\n",
    );
    for name in texts.keys() {
        writeln!(code, "            {name:?} => self.{name},").expect("writing to a string");
    }
    code.push_str("            _ => return None,\n        })\n    }\n}\n");
    code
}

fn texts_as_script(texts: &BTreeMap<String, [String; 2]>, language: usize) -> String {
    let mut script = String::from("export default {\n");
    for (name, pair) in texts {
        // Rust and JavaScript escape text alike, except for invisible characters.
        let text = pair[language].replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        writeln!(script, "  {name}: \"{text}\",").expect("writing to a string");
    }
    script.push_str("};\n");
    script
}
