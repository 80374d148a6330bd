// An account as a page: the JSON in the middle of markup, style and script that CMake made strings of
// (src/train/page/, one file a language).
#include <string_view>

#include "napkin/train/step_account_text.hpp"
#include "page.hpp"

namespace napkin {
namespace {

/// `text` with what stands in the place of "@name@".
std::string put(std::string text, std::string_view place, std::string_view what) {
  const std::size_t at = text.find(place);
  return text.replace(at, place.size(), what);
}

/// JSON that an HTML parser reads to its end: a script ends at the first "</script", whatever it is in.
std::string inside_html(std::string_view json) {
  std::string text;
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

}  // namespace

std::string account_page(const step_account& account) {
  std::string page = put(page_html, "@css@", page_css);
  page = put(std::move(page), "@js@", page_js);
  return put(std::move(page), "@json@", inside_html(account_json(account)));
}

}  // namespace napkin
