#include "course/vet/source_text.hpp"

namespace dist::cli {

std::string with_plain_lines(std::string_view bytes) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (bytes.starts_with(kMark)) {
        bytes.remove_prefix(kMark.size());
    }
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != '\r') {
            text += bytes[i];
        } else if (i + 1 == bytes.size() || bytes[i + 1] != '\n') {
            text += '\n';
        }
    }
    return text;
}

std::string why_no_source(std::string_view bytes) {
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
        return "is UTF-16: it has to be saved as UTF-8";
    }
    return bytes.find('\0') == std::string_view::npos
               ? ""
               : "holds zero bytes: it has to be text, in UTF-8";
}

}  // namespace dist::cli
