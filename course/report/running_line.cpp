#include "course/report/running_line.hpp"

#include <fmt/format.h>

namespace dist::cli {

RunningLine::RunningLine(Context& context) : context_(context) {
    context_.running = [this](std::string_view what) { show(what); };
}

RunningLine::~RunningLine() {
    context_.running = nullptr;
}

void RunningLine::clear() {
    if (line_) {
        line_->clear();
    }
}

void RunningLine::show(std::string_view what) {
    if (!line_) {
        line_.emplace();
    }
    if (what != what_) {
        what_ = what;
        since_ = Clock::now();
    }
    const auto time = std::chrono::floor<std::chrono::seconds>(Clock::now() - since_);
    const std::string text = fmt::format("  {:>3} s  {}", time.count(), what_);
    if (text != shown_) {
        line_->show(text);
        shown_ = text;
    }
}

}  // namespace dist::cli
