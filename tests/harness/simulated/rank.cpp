// What the rest of the harness asks of a rank, with a rank of SimGrid's in its place. Its variables are its own.
#include "tests/harness/simulated/rank.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <functional>
#include <set>
#include <thread>
#include <unistd.h>

#include "tests/harness/job/crash.hpp"
#include "tests/harness/job/secret.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/map_board.hpp"

namespace dist::harness {
namespace {

Slot own_slot{};  // where there is no board
Board* the_board = nullptr;

}  // namespace

int world_rank() {
    static const int rank = [] {
        int r = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &r);
        return r;
    }();
    return rank;
}

int world_size() {
    static const int size = [] {
        int p = 0;
        PMPI_Comm_size(MPI_COMM_WORLD, &p);
        return p;
    }();
    return size;
}

Slot& my_slot() {
    return the_board == nullptr ? own_slot : the_board->slot[world_rank()];
}

Line& my_line() {
    return my_slot().line[0];
}

std::uint64_t in_executable(const void* address) {
    static const void* const begin = [] {
        Dl_info own{};
        dladdr(reinterpret_cast<void*>(&my_line), &own);
        return own.dli_fbase;
    }();
    Dl_info of{};
    const bool here = dladdr(address, &of) != 0 && of.dli_fbase == begin;
    return here ? static_cast<std::uint64_t>(
                      static_cast<const char*>(address) - static_cast<const char*>(begin)
                  )
                : 0;
}

void capture_frames(Frames& frames) {
    void* stack[64];
    const int depth = backtrace(stack, 64);
    int count = 0;
    for (int i = 1; i < depth && count < kMaxFrames; ++i) {
        // a return address points behind the call: one back is inside it
        const std::uint64_t address = in_executable(static_cast<char*>(stack[i]) - 1);
        if (address != 0) {
            frames.address[count++] = address;
        }
    }
    frames.count = count;
}

const Secret& secret() {
    static const Secret none;
    return none;
}

Seal take_seal(int rank) {
    return {Secret{}.records, rank};
}

const Frames& last_throw() {
    static Frames none{};
    return none;
}

void note_if_full() {}

Traffic traffic() {
    return {};
}

void names_memory(const std::string& /*name*/, std::span<const float> /*floats*/) {}

trace::Log last_log() {
    return {};  // nothing is logged
}

}  // namespace dist::harness

namespace dist::harness::simulated {
namespace {

simulation::TestOrder the_order;
long call_count = 0;
std::size_t call_hash = 0;
std::thread::id own_thread;

}  // namespace

const simulation::TestOrder& order() {
    return the_order;
}

void set_order(const simulation::TestOrder& order) {
    the_order = order;
    own_thread = std::this_thread::get_id();
    if (!order.folder.empty()) {
        the_board = &map_board(order.folder);
    }
}

bool exploring() {
    return the_order.folder.empty();
}

void begin_calls() {
    call_count = 0;
    call_hash = 0;
    unsuited().clear();
}

void note_call(const std::string& text) {
    ++call_count;
    call_hash = call_hash * 31 + std::hash<std::string>{}(text);
}

long calls() {
    return call_count;
}

std::string& unsuited() {
    static std::string why;
    return why;
}

std::size_t hash_of_calls() {
    return call_hash;
}

void say(const char* mark) {
    static std::set<std::string> said;
    if (exploring() && said.insert(mark).second) {
        std::fprintf(stderr, "%s\n", mark);
    }
}

void refuse(const std::string& why) {
    std::fprintf(stderr, "%s%s\n", simulation::kCannotRunMark, why.c_str());
    std::_Exit(1);
}

void expect_own_thread(const char* call) {
    if (std::this_thread::get_id() != own_thread) {
        refuse(std::string("a thread that it has started calls ") + call);
    }
}

void append(const char* file, const std::string& line) {
    const std::string path = the_order.folder + "/" + file;
    const int to = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string whole = line + "\n";
    if (to < 0 || write(to, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
        std::perror(path.c_str());
        std::_Exit(1);
    }
    close(to);
}

OwnExceptions::OwnExceptions() {
    std::memcpy(kept_.data(), abi::__cxa_get_globals(), kept_.size());
    std::memset(static_cast<void*>(abi::__cxa_get_globals()), 0, kept_.size());
}

OwnExceptions::~OwnExceptions() {
    std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), kept_.data(), kept_.size());
}

bool EndOfAll::is_near() const {
    return std::uncaught_exceptions() > exceptions_;
}

EndOfAll::~EndOfAll() {
    if (is_near() && !exploring()) {
        std::_Exit(0);
    }
}

Waiting::Waiting(const RequestText& text) {
    if (exploring()) {
        return;
    }
    Line& line = my_line();
    const std::size_t length = std::min(text.call.size(), sizeof line.call - 1);
    std::copy_n(text.call.data(), length, line.call);
    line.call[length] = '\0';
    line.peer = text.peer;
    line.rank_in_comm = text.rank_in_comm;
    line.peer_in_comm = text.peer_in_comm;
    line.tag = text.tag;
    line.kind = text.kind;
    line.direction = text.direction;
    capture_frames(line.frames);
    line.phase = Phase::waiting;
    my_slot().end =
        End::unwound;  // so the board's reader knows a rank that was stopped where it waited
}

Waiting::~Waiting() {
    if (!exploring() && !end_.is_near()) {
        my_line().phase = Phase::computing;
        my_slot().end = End::none;
    }
}

bool& messages_fail() {
    static bool all = false;
    return all;
}

}  // namespace dist::harness::simulated
