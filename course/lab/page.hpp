// The bench's results as a page for a browser.
#pragma once

#include <string>
#include <vector>

#include "course/lab/measured.hpp"

namespace dist::lab {

/// One file of HTML: the curves of what to_json() says, to be pointed at and switched on and off.
std::string to_html(const std::vector<Measured>& measurements);

}  // namespace dist::lab
