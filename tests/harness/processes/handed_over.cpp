#include "tests/harness/processes/handed_over.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace dist::harness {
namespace {

std::string fields_of(const Failure& failure) {
    std::string text;
    for (const std::string& field :
         {failure.expression, failure.expansion, failure.file, std::to_string(failure.line),
          std::to_string(failure.info.size())}) {
        text += field.c_str();  // a student's text may have a zero in it
        text += '\0';
    }
    for (const std::string& info : failure.info) {
        text += info.c_str();
        text += '\0';
    }
    return text;
}

class Fields {
  public:
    Fields(const char* text, std::size_t size) : at_(text), end_(text + size) {}

    [[nodiscard]] bool more() const { return at_ < end_; }
    std::string next() {
        std::string field = more() ? at_ : "";
        at_ += field.size() + 1;
        return field;
    }
    int number() { return std::atoi(next().c_str()); }

  private:
    const char* at_;
    const char* end_;
};

}  // namespace

void HandedOver::write(const TestRun& test) {
    std::string text = std::to_string(static_cast<int>(test.outcome)) + '\0';
    text += test.message.substr(0, kRoom / 2).c_str();
    text += '\0';
    for (const Failure& failure : test.failures) {
        const std::string more = fields_of(failure);
        if (text.size() + more.size() > kRoom) {
            break;
        }
        text += more;
    }
    std::memcpy(text_, text.data(), text.size());
    size_ = text.size();
}

void HandedOver::read(ProcessRun& run) const {
    Fields fields(text_, size_);
    run.outcome = static_cast<Outcome>(fields.number());
    run.message = fields.next();
    while (fields.more()) {
        Failure& failure = run.failures.emplace_back();
        failure.expression = fields.next();
        failure.expansion = fields.next();
        failure.file = fields.next();
        failure.line = fields.number();
        for (int left = fields.number(); left > 0; --left) {
            failure.info.push_back(fields.next());
        }
    }
}

}  // namespace dist::harness
