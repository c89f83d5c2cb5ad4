#include "course/runtime/rendezvous_state.hpp"

#include <iomanip>
#include <sstream>

#include "course/runtime/error.hpp"

namespace dist {
namespace {

// One thing on each line, names in quotes: round 2 3 0, rank "a", member "a" 17, waiting "c" 4,
// end.
constexpr const char* kEnd = "end";

}  // namespace

std::string RendezvousState::text() const {
    std::ostringstream out;
    out << "round " << round << ' ' << last_call << ' ' << closed << '\n';
    for (const std::string& name : ranks) {
        out << "rank " << std::quoted(name) << '\n';
    }
    for (const auto& [name, count] : members) {
        out << "member " << std::quoted(name) << ' ' << count << '\n';
    }
    for (const auto& [name, count] : waiting) {
        out << "waiting " << std::quoted(name) << ' ' << count << '\n';
    }
    out << kEnd;
    return out.str();
}

RendezvousState RendezvousState::from(const std::string& text) {
    RendezvousState state;
    if (text.empty()) {
        return state;
    }
    std::istringstream in(text);
    std::string word;
    std::string name;
    std::int64_t count = 0;
    in >> word >> state.round >> state.last_call >> state.closed;
    while (in >> word && word != kEnd) {
        in >> std::quoted(name);
        if (word == "rank") {
            state.ranks.push_back(name);
        } else if (in >> count) {
            (word == "member" ? state.members : state.waiting)[name] = count;
        }
    }
    if (!in || state.text() != text) {
        throw Error("this is not the state of a rendezvous: " + text);
    }
    return state;
}

}  // namespace dist
