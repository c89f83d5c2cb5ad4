// Ranks that give each other references, in one thread, and a network that delivers, loses and
// repeats what they say, as a test decides.
#pragma once

#include <algorithm>
#include <any>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exercises/09_rpc/remote_reference.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/hand_clock.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;
using Lines = std::vector<std::string>;

/// "USER_DELETE", "ACK of USER_DELETE"
inline std::string text_of(const ControlMessage& message) {
    const char* const kinds[] = {"FORK_REQUEST", "CHILD_ACCEPT", "USER_DELETE"};
    return (message.is_ack ? "ACK of " : "") + std::string(kinds[static_cast<int>(message.kind)]);
}

inline std::string text_of(const RefCounts& counts) {
    return text(
        counts.owned, " owned, ", counts.forks, " forks, ", counts.users, " users, ",
        counts.pending, " pending"
    );
}

/// What became of an object.
struct Fate {
    bool is_made = false;
    int freed = 0;
};

/// A use on a rank, as a function there has it, and what when_confirmed() told it.
struct Held {
    RemoteRef ref;
    std::shared_ptr<std::string> told;  // "confirmed", or an error; empty: nothing yet
};

/// What is on its way: a control message; or a call, which arrives once.
struct Letter {
    int from;
    int to;
    std::string what;
    std::function<void()> arrives;
    bool is_call = true;
    RefId brings = {};      // a use of this
    std::string name = {};  // "1#3": the third from rank 1
};

class RefWorld {
  public:
    explicit RefWorld(int ranks, const RetryOptions& retries = {}) : held_(ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            clocks_.push_back(std::make_unique<HandClock>());
            const auto send = [this, rank](int to, const ControlMessage& message) {
                log_.push_back(text(rank, " to ", to, ": ", text_of(message)));
                const auto arrives = [=, this] { at(to).receive(rank, message); };
                post({rank, to, text_of(message), arrives, false});
            };
            contexts_.push_back(std::make_unique<RefContext>(rank, *clocks_.back(), send, retries));
        }
    }

    [[nodiscard]] int size() const { return static_cast<int>(contexts_.size()); }
    RefContext& at(int rank) { return *contexts_.at(rank); }
    std::vector<Held>& uses(int rank) { return held_.at(rank); }
    RemoteRef& ref(int rank, std::size_t i = 0) { return uses(rank).at(i).ref; }
    const std::string& told(int rank, std::size_t i = 0) { return *uses(rank).at(i).told; }
    bool is_there(RefId id) { return fates_.at(id)->freed == 0; }

    /// A rank makes an object, and holds a use of it.
    RefId create(int rank) {
        const auto fate = std::make_shared<Fate>(Fate{.is_made = true});
        const RemoteRef ref = at(rank).create(object(fate));
        fates_[ref.id()] = fate;
        hold(rank, ref);
        return ref.id();
    }

    /// A rank holds a use of an object that a call makes on the owner.
    RefId remote(int rank, int owner) {
        const auto [ref, data] = at(rank).remote(owner);
        const auto fate = fates_[ref.id()] = std::make_shared<Fate>();
        hold(rank, ref);
        post({rank, owner, "the call that makes it", [=, this, data = data] {
                  fate->is_made = true;
                  at(owner).make(data, object(fate));
              }});
        return ref.id();
    }

    /// A rank gives another one a use, by a call.
    void fork(int rank, int to, std::size_t i = 0) {
        const ForkData data = ref(rank, i).fork_for(to);
        const auto arrives = [=, this] { hold(to, at(to).accept(data)); };
        post({rank, to, "the call with a use", arrives, true, data.reference});
    }

    /// A rank uses it no more.
    void drop(int rank, std::size_t i = 0) {
        const Held gone = std::move(uses(rank).at(i));
        uses(rank).erase(uses(rank).begin() + static_cast<std::ptrdiff_t>(i));
    }

    /// Takes letter `i` to where it goes.
    void deliver(std::size_t i = 0) {
        const Letter letter = letters.at(i);
        lose(i);
        letter.arrives();
    }

    void lose(std::size_t i = 0) {
        letters.erase(letters.begin() + static_cast<std::ptrdiff_t>(i));
    }

    void deliver_all() {
        for (int turn = 0; !letters.empty(); ++turn) {
            if (turn == 1000) {
                note("they send messages without end");
                return;
            }
            deliver();
            look();
        }
    }

    /// Time goes on for a rank, and it ticks.
    void pass(int rank, Ms duration) {
        clocks_.at(rank)->sleep(duration);
        at(rank).tick();
    }

    /// Delivers all, and lets time go on, until nobody has anything to say any more.
    void settle() {
        for (int turn = 0; turn < 8; ++turn) {
            deliver_all();
            for (int rank = 0; rank < size(); ++rank) {
                pass(rank, 10s);
            }
        }
        deliver_all();
    }

    /// Whether an object is gone that is used, or anything else went wrong before: the first thing.
    Comparison look() {
        for (const auto& [id, fate] : fates_) {
            if (fate->freed == 0) {
                continue;
            }
            const std::string what = "the object of reference " + to_string(id) + " is freed, and ";
            for (int rank = 0; rank < size(); ++rank) {
                for (const auto& [ref, told] : uses(rank)) {
                    if (ref.id() == id && (told->empty() || *told == kConfirmed)) {
                        note(text(what, "rank ", rank, " has a use of it"));
                    }
                }
            }
            for (const Letter& letter : letters) {
                if (letter.brings == id) {
                    note(text(what, "a call brings it to rank ", letter.to));
                }
            }
        }
        return {wrong_.empty(), wrong_};
    }

    /// What must be when nobody has a use any more.
    Comparison all_is_over() {
        for (const auto& [id, fate] : fates_) {
            if (fate->is_made && fate->freed == 0) {
                note("nobody uses reference " + to_string(id) + ", and its object is kept");
            }
        }
        for (int rank = 0; rank < size(); ++rank) {
            if (const RefCounts counts = at(rank).counts(); counts != RefCounts{}) {
                note(text("all is over, and rank ", rank, " counts ", text_of(counts)));
            }
        }
        return look();
    }

    /// What was sent since the last time.
    Lines sent() { return std::exchange(log_, {}); }

    /// The same, compared with what it has to be, in any order.
    Comparison said(const std::string& when, Lines expected) {
        Lines got = sent();
        std::ranges::sort(got);
        std::ranges::sort(expected);
        return {got == expected, text(when, ": expected ", expected, "; got ", got)};
    }

    /// The same, when all is delivered.
    Comparison says(const std::string& when, const Lines& expected) {
        deliver_all();
        return said(when, expected);
    }

    static constexpr const char* kConfirmed = "confirmed";

    std::vector<Letter> letters;
    std::set<int> dead;  // nobody hears them, and they hear nobody

  private:
    /// An object that notes when it is freed.
    static std::any object(const std::shared_ptr<Fate>& fate) {
        return std::shared_ptr<int>(new int(7), [fate](const int* number) {
            ++fate->freed;
            delete number;
        });
    }

    void post(Letter letter) {
        letter.name = text(letter.from, "#", ++sent_[letter.from]);
        if (!dead.contains(letter.from) && !dead.contains(letter.to)) {
            letters.push_back(std::move(letter));
        }
    }

    void hold(int rank, const RemoteRef& ref) {
        const auto told = std::make_shared<std::string>();
        const auto fate = fates_.at(ref.id());
        uses(rank).push_back({ref, told});
        ref.when_confirmed([this, rank, told, fate](const std::exception_ptr& error) {
            const std::string who = text("rank ", rank);
            if (!told->empty()) {
                note(who + " is told twice that a use is confirmed");
            }
            *told = error ? error_of([&] { std::rethrow_exception(error); }) : kConfirmed;
            if (!error && (!fate->is_made || fate->freed > 0)) {
                note(who + " begins with a reference whose object is not there");
            }
            for (const Held& use : uses(rank)) {  // or it is not held any more
                if (use.told == told && use.ref.is_confirmed() == (error != nullptr)) {
                    note(
                        "in the callback of when_confirmed on " + who + " is_confirmed() is " +
                        (error ? "true, beside an error" : "false, without an error")
                    );
                }
            }
        });
    }

    /// Keeps the first thing that goes wrong.
    void note(const std::string& wrong) { wrong_ = wrong_.empty() ? wrong : wrong_; }

    // what the ranks still say when they are destroyed comes to those above
    std::map<RefId, std::shared_ptr<Fate>> fates_;
    Lines log_;
    std::map<int, int> sent_;  // by rank
    std::string wrong_;
    std::vector<std::unique_ptr<HandClock>> clocks_;
    std::vector<std::unique_ptr<RefContext>> contexts_;
    std::vector<std::vector<Held>> held_;
};

}  // namespace dist::harness
