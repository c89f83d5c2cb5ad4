#include "tests/harness/words/throws.hpp"

#include <stdexcept>

#include "course/runtime/error.hpp"

namespace dist::harness {

namespace {

constexpr const char* kText = "thrown by the test";
constexpr int kNumber = 42;

}  // namespace

void raise(Thrown what) {
    switch (what) {
        case Thrown::error:
            throw Error(kText);
        case Thrown::logic_error:
            throw std::logic_error(kText);
        case Thrown::number:
            break;
    }
    throw kNumber;
}

std::string name_of(Thrown what) {
    return what == Thrown::error         ? "the dist::Error"
           : what == Thrown::logic_error ? "the std::logic_error"
                                         : "the int, which is no std::exception";
}

std::string thrown_by(const std::function<void()>& call) {
    std::string text = "nothing";
    try {
        call();
    } catch (const NotImplemented&) {  // a stub: nothing was tried
        throw;
    } catch (const Error& error) {
        text = error.what() == std::string(kText) ? name_of(Thrown::error) : error.what();
    } catch (const std::logic_error& error) {
        text = error.what() == std::string(kText) ? name_of(Thrown::logic_error) : error.what();
    } catch (const std::exception& error) {
        text = error.what();
    } catch (int) {
        text = name_of(Thrown::number);
    }
    return text;
}

std::string thrown_as(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {  // a stub: nothing was tried
        throw;
    } catch (const Error&) {
        return kError;
    } catch (const std::invalid_argument&) {
        return kInvalidArgument;
    } catch (const std::logic_error&) {
        return "std::logic_error";
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
    return "nothing";
}

void Bomb::operator()() const {
    if ((*left_)-- == 0) {
        raise(what_);
    }
}

void everything_throws(
    int places,
    const std::function<void(const Bomb&)>& call,
    const std::function<Comparison()>& next
) {
    for (const Thrown what : {Thrown::error, Thrown::logic_error, Thrown::number}) {
        for (int place = 0; place < places; ++place) {
            const std::string came_out = thrown_by([&] { call(Bomb(what, place)); });
            const Comparison afterwards = next();
            INFO("call " << place + 1 << " of " << places << " threw " << name_of(what));
            {
                INFO("what came out");
                CHECK(came_out == name_of(what));
            }
            INFO("the call after it");
            CHECK(afterwards);
        }
    }
}

}  // namespace dist::harness
