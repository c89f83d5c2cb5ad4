// A source as it is compiled, compared and looked at: with the same lines for all of them.
#pragma once

#include <string>
#include <string_view>

namespace dist::cli {

/// `bytes` without a byte order mark, and with each end of a line, CR and CRLF too, as LF: compilers end a line at each of them.
std::string with_plain_lines(std::string_view bytes);

/// Why these bytes are no source in UTF-8; empty where nothing speaks against it.
std::string why_no_source(std::string_view bytes);

}  // namespace dist::cli
