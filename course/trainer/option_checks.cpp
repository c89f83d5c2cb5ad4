#include "course/trainer/option_checks.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace dist::trainer {

namespace {

constexpr std::uint64_t kMost = 1'000'000'000'000;

// NaN is no number here.
std::string check_real(const std::string& text, bool (*good)(double), const char* wanted) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0';
    return whole && std::isfinite(number) && good(number) ? "" : text + ": give a number " + wanted;
}

}  // namespace

std::string check_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stopped == end && least <= number && number <= most
               ? ""
               : text + ": give a whole number from " + std::to_string(least) + " to " +
                     (most == kMost ? "10^12" : std::to_string(most));
}

std::string check_from_0(const std::string& text) {
    return check_whole(text, 0, kMost);
}

std::string check_from_1(const std::string& text) {
    return check_whole(text, 1, kMost);
}

std::string check_rate(const std::string& text) {
    return check_real(
        text, [](double rate) { return rate > 0; }, "above 0"
    );
}

std::string check_below_1(const std::string& text) {
    return check_real(
        text, [](double number) { return 0 <= number && number < 1; }, "from 0 up to 1"
    );
}

std::string check_decay(const std::string& text) {
    return check_real(
        text, [](double decay) { return decay >= 0; }, "of 0 or more"
    );
}

}  // namespace dist::trainer
