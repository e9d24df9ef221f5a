//! Sizes as people write them: `512MiB`, `1.5GiB`, `100kB`, `4096`.

/// Reads a size in bytes. Units: `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024); none means bytes.
///
/// # Errors
/// A sentence that says how a size is written.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wanted = || format!("{text:?} is no size; write a number and a unit, such as 512MiB, 2GiB or 100kB");
    let text = text.trim();
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit_bytes: u64 = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(wanted()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit_bytes).ok_or_else(wanted);
    }
    let bytes = number.parse::<f64>().map_err(|_| wanted())? * unit_bytes as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(wanted()) }
}

/// Writes a size for people, with three digits: `1.50 GiB`.
pub fn show_size(bytes: u64) -> String {
    for (name, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift {
            return format!("{:.2} {name}", bytes as f64 / (1u64 << shift) as f64);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_size("100kB"), Ok(100_000));
    }

    #[test]
    fn refuses_what_is_unclear() {
        for text in ["", "MiB", "-1", "1M", "1TiB", "99999999999GiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shows_sizes() {
        assert_eq!(show_size(512), "512 B");
        assert_eq!(show_size(3 << 29), "1.50 GiB");
    }
}
