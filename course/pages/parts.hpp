// The files of course/pages/ that pages are made of.
#pragma once

#include <map>
#include <string_view>

namespace dist::pages {

/// By name: "page.css".
const std::map<std::string_view, std::string_view>& parts();

}  // namespace dist::pages
