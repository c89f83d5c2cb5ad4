#include "course/pages/pages.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "course/pages/parts.hpp"

namespace dist::pages {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string>>;

std::string part(const std::string& name) {
    return std::string(parts().at(name));
}

/// `text` with each {{NAME}} replaced; what comes in is not looked at again.
std::string filled(std::string_view text, const Fields& fields) {
    std::string out;
    while (!text.empty()) {
        const std::size_t begin = text.find("{{");
        out += text.substr(0, begin);
        if (begin == std::string_view::npos) {
            break;
        }
        const std::size_t end = text.find("}}", begin);
        const std::string_view name = text.substr(begin + 2, end - begin - 2);
        for (const auto& [field, value] : fields) {
            out += field == name ? value : "";
        }
        text.remove_prefix(end + 2);
    }
    return out;
}

/// JSON inside of a script: nothing in it ends the script.
std::string in_a_script(const nlohmann::json& data) {
    std::string out;
    for (const char one : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
        out += one == '<' ? "\\u003c" : std::string(1, one);
    }
    return out;
}

std::string filled_page(
    const Page& page, const std::string& kind, const nlohmann::json& data, const std::string& script
) {
    return filled(
        part("page.html"),
        {{"title", escaped(page.title)},
         {"style", part("page.css") + part(kind + ".css")},
         {"body", part(kind + ".html")},
         {"still-name", kind == "player" ? "All messages at once" : "All in a table"},
         {"still", page.still},
         {"data", in_a_script(data)},
         {"script", part("page.js") + part(kind + ".js") + script}}
    );
}

}  // namespace

std::string player(const Page& page, const nlohmann::json& run) {
    return filled_page(page, "player", run, part("stage.js"));
}

std::string curves(const Page& page, const nlohmann::json& document) {
    return filled_page(page, "curves", document, part("plot.js"));
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char one : text) {
        out += one == '<'   ? "&lt;"
               : one == '>' ? "&gt;"
               : one == '&' ? "&amp;"
               : one == '"' ? "&quot;"
                            : std::string(1, one);
    }
    return out;
}

}  // namespace dist::pages
