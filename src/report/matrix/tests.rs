use super::*;
use crate::matrix::{Matrix, Plan, sample};
use crate::record::sample::assert_snapshot;

#[test]
fn nemo_rl_2003_s_table() {
    assert_snapshot("matrix_nemo_rl_2003_markdown", &markdown(&sample::nemo_rl_2003()));
    assert_snapshot("matrix_nemo_rl_2003_html", crate::report::page::body(&html(&sample::nemo_rl_2003())));
}

#[test]
fn a_name_is_no_markup() {
    let text = "[[configuration]]\nname = \"<script>|**x** & \\u202e\"\ncommand = [\"x\"]";
    let matrix = Matrix::of(&Plan::parse("m.toml".as_ref(), text).unwrap(), &[]);
    let (markdown, html) = (markdown(&matrix), html(&matrix));
    assert!(markdown.contains(r"&lt;script>\|\*\*x\*\* &amp; "), "{markdown}");
    assert!(!html.contains("<script>|") && html.contains("&lt;script&gt;|**x** &amp; "), "{html}");
    assert!(![markdown, html].iter().any(|text| text.contains('\u{202e}')));
}
