package main

// it's
var a = `one // b\`  // `c`
var d = `two
  // e
"`  // f
var g, h = '"', "i // \"j"  /* " */
var k = '\''  // l's
