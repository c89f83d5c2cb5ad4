// Where replicas meet before each step, and a quorum of them is formed: quorum() of exercise
// quorum_step, over a store.
//
// What all know is one value of the store. Whoever changes it forms the next quorum as well, if one
// can be formed now. So there is no process that all others depend on, but the store's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/store.hpp"
#include "exercises/10_elastic/quorum_step.hpp"

namespace dist::elastic {

/// A replica that is started again is another one: no other one has or had this name.
std::string replica_name(int number, std::int64_t life);

/// The value in the store. It holds no time: clocks of two machines have nothing to do with each
/// other.
struct LighthouseState {
    /// What a replica has said.
    struct Entry {
        std::int64_t beats = 0;  // goes up while it lives
        bool asks = false;       // for a quorum
        std::int64_t step = 0;
        bool failed = false;
    };

    std::int64_t formed = 0;  // how many quorums, also those with the number of the one before
    bool is_finished = false;
    Quorum quorum = {};  // the last one
    std::map<std::string, Entry> replicas;

    [[nodiscard]] bool has_member(const std::string& name) const;

    /// The state as text, from which from() makes it again; a new one for the empty text.
    [[nodiscard]] std::string text() const;
    static LighthouseState from(const std::string& text);
};

/// One of those that look at that value. It takes a replica for dead when it has not seen it beat
/// for dead_after of its own time, which goes on as its clock does, but by no more than interval()
/// from one look to the next: so who stood still takes nobody else for dead. Several threads may
/// call.
///
/// Errors  of all calls: those of the store.
class Lighthouse {
  public:
    /// run       names the job: all keys begin with it and "/lighthouse".
    /// replicas  that the first quorum waits for, but for join_timeout at most.
    Lighthouse(
        Store& store,
        const std::string& run,
        int replicas,
        Clock& clock,
        const QuorumSettings& settings = {}
    );

    /// Asks for a quorum, and waits for one with this replica. None: the job is finished.
    ///
    /// name          has no blank in it.
    /// step, failed  as in Replica.
    /// Cost          a few round trips to the store. Who waits looks once an interval; whoever
    ///               forms the quorum wakes it.
    std::optional<Quorum> ask(const std::string& name, std::int64_t step, bool failed);

    /// Says that this replica lives: once an interval.
    void beat(const std::string& name);

    /// Says that it has died. Who started it knows that at once, and the others need not wait for
    /// dead_after.
    void forget(const std::string& name);

    /// Says that all steps are taken: no more quorums are formed.
    void finish();

    [[nodiscard]] bool is_finished();

    /// A fifth of dead_after.
    [[nodiscard]] Clock::Duration interval() const;

  private:
    /// What is known of a replica here.
    struct Seen {
        std::int64_t beats = 0;
        Clock::Duration heard{0};
        std::optional<Clock::Duration> asked = {};
    };

    /// Changes the value, and forms a quorum if that can be. Returns what stands in the store then.
    LighthouseState change(const std::function<void(LighthouseState&)>& say);
    bool form(LighthouseState& state);
    std::vector<Replica> look(const LighthouseState& state);
    void wait_for(std::int64_t formed);
    [[nodiscard]] std::string formed_key(std::int64_t formed) const;

    Store& store_;
    std::string key_;
    int replicas_;
    Clock& clock_;
    QuorumSettings settings_;
    std::mutex mutex_;         // of all below
    Clock::Duration time_{0};  // own
    std::optional<Clock::Duration> looked_ = {};
    std::int64_t formed_ = 0;
    std::map<std::string, Seen> seen_;
};

}  // namespace dist::elastic
