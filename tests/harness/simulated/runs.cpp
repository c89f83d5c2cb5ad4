// harness.hpp on SimGrid's MPI: the same tests, bodies and checks. Not counted here: messages, bytes, rounds, memory.
#include "tests/harness/job/runs.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <simgrid/modelchecker.h>

#include <mpi.h>

#include "course/runtime/error.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/job/records.hpp"
#include "tests/harness/simulated/rank.hpp"
#include "tests/harness/words/interleaved.hpp"
#include "tests/harness/words/shared_room.hpp"

namespace dist::harness {
namespace {

using simulated::exploring;
using simulated::order;

long trial = 0;                 // the last that was begun
bool failed_somewhere = false;  // in the test in progress, as far as all ranks know

/// The world that stands for those listed: all ranks, where several are; one that a test is made for alone keeps its size.
int world_for(const std::vector<int>& sizes) {
    return sizes.size() == 1 ? sizes.front() : world_size();
}

MPI_Comm communicator_of(int p) {
    static std::map<int, MPI_Comm> made = {{world_size(), MPI_COMM_WORLD}};
    const auto found = made.find(p);
    if (found != made.end()) {
        return found->second;
    }
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    int range[1][3] = {{0, p - 1, 1}};
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_range_incl(world, 1, range, &members);
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_create_group(MPI_COMM_WORLD, members, p, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return made.emplace(p, comm).first->second;
}

/// Writes what this rank knows now. It writes ahead, because a rank that can no longer move writes nothing.
void write_ahead(Phase phase) {
    TestRun so_far = current_test();
    so_far.phase = phase;
    if (so_far.outcome == Outcome::pass) {
        so_far.outcome = Outcome::stopped;
    }
    write_test(so_far, 0, 0, 0, 0);
}

Phase run_body(const std::function<void(const Communicator&)>& body, int p) {
    try {
        body(Communicator::borrow(communicator_of(p)));
        return Phase::returned;
    } catch (...) {
        if (!note_course_exception()) {
            note_exception();
        }
    }
    current_test().phase = Phase::threw;
    return Phase::threw;
}

/// Whether it went well on all ranks, as far as that is asked.
bool run_trial(int p, const std::function<void(const Communicator&)>& body) {
    ++trial;
    if (order().trial != 0 && order().trial != trial) {
        return true;
    }
    Phase end = Phase::returned;
    if (world_rank() < p) {
        current_test().ranks = p;
        my_slot().ranks = p;
        my_slot().run_started = trial;
        simulated::begin_calls();
        end = run_body(body, p);
    }
    const bool failed = current_test().outcome != Outcome::pass;
    const bool wrong = failed && current_test().outcome != Outcome::skipped;
    if (order().trial != 0 && wrong) {
        // a step: without one after its last message a replay ends before the rank has said why
        MC_random(0, 1);
        MC_assert(exploring() ? 0 : 1);
    }
    if (exploring()) {
        return false;  // it was the last
    }
    if (world_rank() < p) {
        write_ahead(end);
        const simulation::Trial done{world_rank(),
                                     trial,
                                     current_test().name,
                                     simulated::calls(),
                                     simulated::hash_of_calls(),
                                     simulated::unsuited(),
                                     wrong};
        simulated::append(simulation::kTrialsFile, nlohmann::json(done).dump());
    }
    if (order().trial != 0) {
        return false;
    }
    const int mine = failed ? 1 : 0;
    int any = 0;
    const simulated::EndOfAll if_killed;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    failed_somewhere = failed_somewhere || any != 0;
    return any == 0;
}

}  // namespace

void begin_test(const std::string& name, bool /*selected*/) {
    current_test() = {};
    current_test().name = name;
    failed_somewhere = false;
    std::strncpy(my_slot().test, name.c_str(), sizeof my_slot().test - 1);
}

bool end_test() {
    my_slot().ranks = 0;
    return true;
}

bool some_rank_failed() {
    return failed_somewhere;
}

bool test_is_selected() {
    return true;
}

void on_ranks_each(
    const std::vector<int>& sizes,
    const std::function<std::size_t(int p)>& count,
    const std::function<void(const Communicator&, std::size_t number)>& body
) {
    const int p = world_for(sizes);
    if (p > world_size()) {
        return;
    }
    for (std::size_t number = 0; number < count(p) && !failed_somewhere; ++number) {
        run_trial(p, [&](const Communicator& comm) { body(comm, number); });
    }
}

void on_ranks(const std::vector<int>& sizes, const std::function<void(const Communicator&)>& body) {
    on_ranks_each(
        sizes, [](int) { return 1; }, [&](const Communicator& comm, std::size_t) { body(comm); }
    );
}

void on_ranks(
    std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body
) {
    on_ranks(std::vector<int>(sizes), body);
}

Traffic record(const Communicator& /*comm*/, const std::function<void()>& body) {
    body();
    Traffic none;
    none.counted = false;
    return none;
}

Answer answer(const Communicator& comm, const std::function<void()>& body) {
    Answer got;
    got.what = kReturned;
    try {
        got.traffic = record(comm, body);
    } catch (const NotImplemented&) {
        throw;
    } catch (const std::invalid_argument& error) {
        got.what = kInvalidArgument;
        got.text = error.what();
    } catch (const Error& error) {
        got.what = kError;
        got.text = error.what();
    } catch (const std::exception& error) {
        got.what = type_name(error);
        got.text = error.what();
    }
    return got;
}

Memory memory_of(const Communicator& /*comm*/, const std::function<void()>& /*body*/) {
    skip("memory is not counted in a simulation");
}

std::vector<MessageRecord> recorded_messages(const Communicator& /*comm*/) {
    skip("rounds are not counted in a simulation");
}

Comparison same_on_all_ranks(std::span<const float> data, const Communicator& comm) {
    std::vector<float> of_0(data.begin(), data.end());
    const simulated::EndOfAll end;
    PMPI_Bcast(of_0.data(), static_cast<int>(of_0.size()), MPI_FLOAT, 0, comm.handle());
    const bool same = std::memcmp(of_0.data(), data.data(), data.size_bytes()) == 0;
    return {same, "it holds other bits than rank 0"};
}

void* shared_room(const char* name, std::size_t bytes) {
    // all ranks are in one process, which has one environment
    const std::string variable = std::string("SHARDLINGS_ROOM_") + name;
    if (const char* const address = std::getenv(variable.c_str())) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): one process, whose environment holds text
        return reinterpret_cast<void*>(std::strtoull(address, nullptr, 16));
    }
    void* const room = std::calloc(1, bytes);
    char text[32];
    std::snprintf(text, sizeof text, "%p", room);
    setenv(variable.c_str(), text, 1);
    return room;
}

std::vector<std::size_t> lengths(int /*p*/) {
    return order().lengths;
}

Forbid::Forbid(std::initializer_list<const char*> /*calls*/, const char* /*sentence*/) {}

Permit::Permit() = default;
Permit::~Permit() = default;

// No rank has to come late: prove tries every order of messages.
Interleaved::Interleaved() = default;
Interleaved::~Interleaved() = default;
Late::Late(int /*milliseconds*/) {}
Late::~Late() = default;
LateMessages::LateMessages(int /*milliseconds*/) {}
LateMessages::~LateMessages() = default;

FailingMessages::FailingMessages() {
    simulated::messages_fail() = true;
}
FailingMessages::~FailingMessages() {
    simulated::messages_fail() = false;
}
bool FailingMessages::met() const {
    return true;
}

// Messages are not counted here, and so none is the last.
FailingMessage::FailingMessage(long /*number*/) {}
FailingMessage::~FailingMessage() = default;

CrashMeans::CrashMeans(const std::string& /*sentence*/) {}
CrashMeans::~CrashMeans() = default;

}  // namespace dist::harness
