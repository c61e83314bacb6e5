const a = `one // b \` c
  /* d */`;  // e's
const f = g.replace(/https?:\/\//, "h // i");  // j
const k = l / m; // n
const o = [/["']/, '//', /[/][/]p/];  /* ` */
const q = r => { return /\/*"/.test(r) };  // s
const t = "u // v", w = 1 / 2 / 3;  // x
