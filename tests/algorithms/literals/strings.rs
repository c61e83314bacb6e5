fn f<'a>(x: &'a str) -> &'a str { g( x ) } // don't
// it's
const A: &str = "one
  http://b.com /* c";  // d
const E: &str = r#"say "http://f" "#;  /* " */
const G: (char, char, u8, char) = ('"', '\'', b'/', 'é');  // h's
const I: char = '\u{1F600}';  // '
const J: &str = "k \\" // l
;
const M: &str = r"n\"; // o"
fn p<'a, 'b>(q: &'a str, r: &'b str) {} // s
