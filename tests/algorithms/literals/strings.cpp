// says "nothing
int million = 1'000'000;  // don't
std::string a = R"(one // b
  two /* c )";  /* "d */
auto b = u8R"sql(select ")" // e
)sql";
char c = '"', d = '\'';  // f's
const char *g = "say \"http://h\"";  // i
const char *j = "k \
   // l";  // m
int n = 1 /* o
  p */ + 2;
