#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "course/report/drawing.hpp"

namespace dist::cli {
namespace {

using nlohmann::json;
using trace::Did;
using trace::Step;

constexpr double kUs = 1e6;      // in a second
constexpr double kPostedUs = 1;  // a slice needs a length; posting a message takes about that

class Events {
  public:
    explicit Events(const TestResult& test) {
        origin_s_ = first_moment(test);
        for (const RankResult& rank : test.per_rank) {
            name(rank.rank, "process_name", 0, fmt::format("rank {}", rank.rank));
            add_rank(rank);
        }
    }

    [[nodiscard]] const json& all() const { return events_; }

  private:
    static double first_moment(const TestResult& test) {
        double first_s = 0;
        bool any = false;
        for (const RankResult& rank : test.per_rank) {
            for (const Step& step : rank.log.steps) {
                first_s = any ? std::min(first_s, step.since_s) : step.since_s;
                any = true;
            }
        }
        return first_s;
    }

    [[nodiscard]] double us(double at_s) const { return (at_s - origin_s_) * kUs; }

    void name(int rank, const char* what, int thread, const std::string& text) {
        events_.push_back(
            {{"ph", "M"},
             {"name", what},
             {"pid", rank},
             {"tid", thread},
             {"args", {{"name", text}}}}
        );
    }

    void slice(int rank, int thread, const std::string& what, double begin_us, double length_us) {
        events_.push_back(
            {{"ph", "X"},
             {"cat", "mpi"},
             {"name", what},
             {"pid", rank},
             {"tid", thread},
             {"ts", begin_us},
             {"dur", std::max(length_us, kPostedUs)}}
        );
    }

    /// One end of a message's arrow; its number is the sender's, made unique.
    void flow(const char* phase, int rank, int thread, int sender, int id, double at_us) {
        json event = {{"ph", phase}, {"cat", "message"}, {"name", "message"},
                      {"pid", rank}, {"tid", thread},    {"id", fmt::format("{}.{}", sender, id)},
                      {"ts", at_us}};
        if (*phase == 'f') {
            event["bp"] = "e";
        }
        events_.push_back(std::move(event));
    }

    void add_rank(const RankResult& rank) {
        std::map<int, int> threads;  // as they are numbered in the trace: from 0
        for (const Step& step : rank.log.steps) {
            const auto [found, is_new] =
                threads.emplace(step.thread, static_cast<int>(threads.size()));
            const int thread = found->second;
            if (is_new) {
                name(
                    rank.rank, "thread_name", thread,
                    thread == 0 ? "main" : fmt::format("thread {}", thread)
                );
            }
            const double at_us = us(step.at_s);
            const double since_us = us(step.since_s);
            switch (step.did) {
                case Did::send:
                    slice(
                        rank.rank, thread,
                        fmt::format("send {} bytes to rank {}", step.bytes, step.peer), at_us, 0
                    );
                    flow("s", rank.rank, thread, rank.rank, step.id, at_us);
                    break;
                case Did::wait_send:
                    slice(rank.rank, thread, "wait: sent", since_us, at_us - since_us);
                    break;
                case Did::wait_receive:
                    slice(
                        rank.rank, thread,
                        fmt::format("receive {} bytes from rank {}", step.bytes, step.peer),
                        since_us, at_us - since_us
                    );
                    flow("f", rank.rank, thread, step.peer, step.peer_id, at_us);
                    break;
                case Did::receive:
                case Did::start_thread:
                case Did::join_thread:
                    break;
            }
        }
    }

    json events_ = json::array();
    double origin_s_ = 0;
};

}  // namespace

std::string chrome_trace(const TestResult& test, const std::string& exercise) {
    const json document = {
        {"displayTimeUnit", "ns"},
        {"otherData", {{"exercise", exercise}, {"test", test.name}, {"ranks", test.ranks}}},
        {"traceEvents", Events(test).all()}};
    return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace dist::cli
