#include "course/grade/due.hpp"

#include <algorithm>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <toml++/toml.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

[[noreturn]] void refuse(
    const std::filesystem::path& file, const toml::node& value, const std::string& what
) {
    throw UsageError(fmt::format("{}:{}: {}", file.string(), value.source().begin.line, what));
}

Moment moment_of(
    const std::filesystem::path& file, std::string_view name, const toml::node& value
) {
    const auto written = value.value<toml::date_time>();
    if (!value.is_date_time() || !written || !written->offset) {
        refuse(
            file, value,
            fmt::format("{} must be a time with its zone, as 2026-12-01T23:59:00+01:00", name)
        );
    }
    using namespace std::chrono;
    const sys_days day =
        year(written->date.year) / month(written->date.month) / std::chrono::day(written->date.day);
    return day + hours(written->time.hour) + minutes(written->time.minute) +
           seconds(written->time.second) - minutes(written->offset->minutes);
}

Dates dates_of(const std::filesystem::path& file, const toml::node& table) {
    Dates dates;
    for (const auto& [name, value] : *table.as_table()) {
        dates[std::string(name.str())] = moment_of(file, name.str(), value);
    }
    return dates;
}

}  // namespace

std::string text_of(Moment moment) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(moment.time_since_epoch().count()));
}

int Due::days_late(const std::string& submission, Moment came) const {
    const auto other = exceptions.find(submission);
    const Moment until = other == exceptions.end() ? date : other->second;
    return std::max(
        0, static_cast<int>(std::chrono::ceil<std::chrono::days>(came - until).count())
    );
}

std::string Due::doubt(const std::string& submission, Moment came) const {
    using namespace std::chrono;
    constexpr Moment kFirst = sys_days(2026y / January / 1);  // the course is not older
    const bool odd = came < kFirst || came > system_clock::now();
    return odd && !handed_in.contains(submission) ? fmt::format(
                                                        "its newest file is of {}: a clock was "
                                                        "wrong; [handed_in] may say when it came",
                                                        text_of(came)
                                                    )
                                                  : "";
}

double Due::left_after(int days) const {
    return std::max(0.0, 1 - days * lost_per_day / 100);
}

Due read_due(const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file)) {
        throw UsageError(file.string() + " is not there: it must say when submissions were due");
    }
    Due due;
    try {
        const toml::table document = toml::parse_file(file.string());
        if (!document.contains("due")) {
            throw UsageError(
                file.string() + " has no line such as due = 2026-12-01T23:59:00+01:00"
            );
        }
        for (const auto& [key, value] : document) {
            if (key == "due") {
                due.date = moment_of(file, "due", value);
                due.zone = std::chrono::minutes(value.value<toml::date_time>()->offset->minutes);
            } else if (key == "lost_per_day") {
                const auto percent = value.value<double>();
                if (!percent || *percent < 0 || *percent > 100) {
                    refuse(file, value, "lost_per_day must be a percentage, from 0 to 100");
                }
                due.lost_per_day = *percent;
            } else if (key == "exceptions" && value.is_table()) {
                due.exceptions = dates_of(file, value);
            } else if (key == "handed_in" && value.is_table()) {
                due.handed_in = dates_of(file, value);
            } else {
                refuse(
                    file, value,
                    fmt::format(
                        "'{}' is none of: due, lost_per_day, [exceptions], [handed_in]", key.str()
                    )
                );
            }
        }
    } catch (const toml::parse_error& error) {
        throw UsageError(fmt::format(
            "{}:{}: {}; a time is written as 2026-12-01T23:59:00+01:00", file.string(),
            error.source().begin.line, error.description()
        ));
    }
    return due;
}

void give_counted(Grade& record, const std::optional<Due>& due, std::optional<Moment> came) {
    record["counted"] = record.at("score");
    record.erase("handed_in");  // by an earlier file of dates
    record.erase("days_late");
    if (!due) {
        return;
    }
    const std::string name = submission_of(record);
    if (const auto said = due->handed_in.find(name); said != due->handed_in.end()) {
        came = said->second;
    }
    const int days = came ? due->days_late(name, *came) : 0;
    record["handed_in"] = came ? Grade(text_of(*came)) : Grade(nullptr);
    record["days_late"] = days;
    if (counts(record)) {
        record["counted"] = score_of(record) * due->left_after(days);
    }
}

}  // namespace dist::cli
