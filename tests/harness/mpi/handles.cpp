#include "tests/harness/mpi/handles.hpp"

#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace dist::harness {
namespace {

struct Made {
    const void* handle;
    const char* kind;
    std::string call;
};

std::mutex handles_lock;
std::vector<Made> all_made;

const char* remedy(std::string_view kind) {
    static const std::map<std::string_view, const char*> remedies = {
        {"communicator", "MPI_Comm_free, or a dist::Communicator that owns it"},
        {"datatype", "MPI_Type_free"},
        {"operation", "MPI_Op_free"},
        {"rank group", "MPI_Group_free"},
        {"error handler", "MPI_Errhandler_free"},
        {"info object", "MPI_Info_free"},
        {"window", "MPI_Win_free"}};
    return remedies.at(kind);
}

}  // namespace

void note_handle(const void* handle, const char* kind, const std::string& call) {
    const std::scoped_lock guard(handles_lock);
    if (handle != static_cast<const void*>(MPI_GROUP_EMPTY)) {
        all_made.push_back({handle, kind, call});
    }
}

void forget_handle(const void* handle) {
    const std::scoped_lock guard(handles_lock);
    for (auto it = all_made.begin(); it != all_made.end(); ++it) {
        if (it->handle == handle) {
            all_made.erase(it);
            return;
        }
    }
}

std::string never_freed() {
    const std::scoped_lock guard(handles_lock);
    std::map<std::pair<std::string_view, std::string>, int> counts;
    for (const Made& made : all_made) {
        ++counts[{made.kind, made.call}];
    }
    all_made.clear();
    std::string text;
    for (const auto& [what, n] : counts) {
        const auto& [kind, call] = what;
        text += (text.empty() ? "" : "; ") + std::to_string(n) + " " + std::string(kind) +
                (n == 1 ? " was" : "s were") + " made by " + call +
                " and never freed: " + remedy(kind);
    }
    return text;
}

}  // namespace dist::harness
