#include "tests/pictures/draw.hpp"

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/mpi/traffic.hpp"

namespace dist::diagrams {

void draw(const Diagram& diagram, const std::function<void(const Communicator&)>& body) {
    using namespace harness;
    on_ranks({diagram.ranks}, [&](const Communicator& comm) {
        const Traffic traffic = record(comm, [&] { body(comm); });
        const std::vector<MessageRecord> messages = recorded_messages(comm);
        REQUIRE(!messages.empty());
        CHECK(messages.back().end == traffic.rounds);
        const char* folder = std::getenv(kEnvPictures);
        Diagram shown = diagram;
        shown.shows_waits = true;
        if (comm.rank() == 0 && folder != nullptr) {
            std::ofstream file(std::string(folder) + "/" + diagram.name + ".svg");
            file << svg(shown, messages);
            CHECK(file.flush().good());
        }
    });
}

std::vector<std::size_t> chunk_begins(std::size_t n, int count) {
    std::vector<std::size_t> begins;
    begins.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        begins.push_back(chunk_bounds(n, count, i).begin);
    }
    return begins;
}

std::vector<float> numbered(std::size_t n, std::size_t begin) {
    std::vector<float> data(n);
    std::iota(data.begin(), data.end(), static_cast<float>(begin));
    harness::names_memory("data", data);
    return data;
}

std::vector<float> room_for(std::size_t n) {
    std::vector<float> out(n);
    harness::names_memory("out", out);
    return out;
}

}  // namespace dist::diagrams
