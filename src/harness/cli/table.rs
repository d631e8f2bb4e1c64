//! Four columns, or two lines a row where the terminal is too narrow for them.

use super::style::{faint, width};

/// The table as text; the first column of a row is its name.
pub(super) fn table(heads: [&str; 4], rows: Vec<[String; 4]>) -> String {
    within(width(), heads, rows)
}

fn within(width: usize, heads: [&str; 4], rows: Vec<[String; 4]>) -> String {
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(widest);
    let narrow = 2 + a + 2 + b + 2 + c + 2 + d > width;
    let line = |[name, two, three, four]: [&str; 4]| match narrow {
        true => {
            let rest = [two, three, four].into_iter().filter(|cell| !cell.is_empty());
            format!("  {name}\n      {}", rest.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
        }
        false => format!("  {name:<a$}  {two:<b$}  {three:<c$}  {four}").trim_end().to_owned(),
    };
    let mut text = format!("{}\n", faint(line(heads)));
    for row in &rows {
        text.push_str(&line(row.each_ref().map(String::as_str)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_gets_two_lines_a_row() {
        let rows = || vec![["states", "(b, l, n)", "[8, 60, 16]", ""].map(str::to_owned)];
        let heads = ["step", "axes", "shape", "line"];
        let text = |width| anstream::adapter::strip_str(&within(width, heads, rows())).to_string();
        let wide = "  step    axes       shape        line\n  states  (b, l, n)  [8, 60, 16]\n";
        assert_eq!(text(38), wide);
        let narrow = "  step\n      axes  shape  line\n  states\n      (b, l, n)  [8, 60, 16]\n";
        assert_eq!(text(37), narrow);
    }
}
