// What is refused in the text and in the names of an answer, before anything of it runs.
#include <set>
#include <string>
#include <vector>

#include "course/vet/lexer.hpp"
#include "course/vet/source_text.hpp"
#include "course/vet/symbols.hpp"
#include "course/vet/text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

/// Names, numbers and ##: what objections are made of.
std::vector<Token> names_of(const std::string& source) {
    std::vector<Token> names = tokens_of(source);
    std::erase_if(names, [](const Token& token) {
        return token.text != "##" &&
               token.text.find_first_of("0123456789_abcdefghijklmnopqrstuvwxyzA") ==
                   std::string::npos &&
               token.text != "C";
    });
    return names;
}

std::vector<std::string> words_of(const std::string& source) {
    std::vector<std::string> words;
    for (const Token& token : names_of(source)) {
        words.push_back(token.text);
    }
    return words;
}

using Words = std::vector<std::string>;

std::size_t objections_of(const std::string& source, Strictness strictness = Strictness::grader) {
    return objections_to_text(source, "a.cpp", strictness).size();
}

Symbol needed(const std::string& name) {
    return {name, 'U'};
}

bool may_need(const std::string& name, Strictness strictness = Strictness::grader) {
    return why_not_needed(needed(name), strictness).empty();
}

}  // namespace

TEST_CASE("comments and literals hold no words of a program") {
    CHECK(words_of("a // asm\nb") == Words{"a", "b"});
    CHECK(words_of("a /* asm\n asm */ b") == Words{"a", "b"});
    CHECK(words_of(R"(a "asm \" asm" b 'x' c)") == Words{"a", "b", "c"});
    CHECK(words_of("a R\"x(asm )\" asm)x\" b") == Words{"a", "b"});
    CHECK(words_of("a u8R\"(asm)\" b LR\"(asm)\" c") == Words{"a", "b", "c"});
}

TEST_CASE("no comment or literal hides what a compiler sees") {
    CHECK(words_of("fR\"(\" asm \")\"") == Words{"fR", "asm"});  // no prefix of a raw string
    CHECK(words_of("as\\\nm") == Words{"asm"});
    CHECK(words_of("as\\\r\nm") == Words{"asm"});
    CHECK(words_of("// a \\\n asm\nb") == Words{"b"});
    CHECK(words_of("\"a\\ \t\n\" asm \"b\"") == Words{"asm"});  // blanks behind the backslash
    CHECK(words_of("A(0e+a'b) asm C('')") == Words{"A", "0e+a'b", "asm", "C"});
    CHECK(words_of(".5e-3'1 1.asm asm") == Words{".5e-3'1", "1.asm", "asm"});
    CHECK(words_of("/\\\n/ asm\nb") == Words{"b"});
    CHECK(words_of("1'000 asm 1'/*' asm '*/'") == Words{"1'000", "asm", "1", "asm"});
    CHECK(words_of("\"/*\" asm \"*/\"") == Words{"asm"});
    CHECK(words_of("'\"' asm '\"'") == Words{"asm"});
    CHECK(words_of("'\\'' asm") == Words{"asm"});
    CHECK(
        words_of("#/* */li\\\nne 7\n %:7\n#define A(line) #line") ==
        Words{"#line", "line", "7", "#line", "7", "define", "A", "line", "line"}
    );
    CHECK(words_of("# define A(x) x%:%:x") == Words{"define", "A", "x", "x", "##", "x"});
}

TEST_CASE("words know their lines") {
    const auto tokens = names_of("a /*\n\n*/ b\nR\"(\n\n)\" c as\\\nm d");
    REQUIRE(tokens.size() == 5);
    CHECK(tokens[1].line == 3);
    CHECK(tokens[2].line == 6);
    CHECK(tokens[3].line == 6);
    CHECK(tokens[4].line == 7);
}

TEST_CASE("assembler and the stack are refused to everybody, joined words to who is graded") {
    for (const Strictness strictness : {Strictness::learner, Strictness::grader}) {
        CHECK(objections_of("asm(\"\");", strictness) == 1);
        CHECK(objections_of("__asm__ volatile(\"\");", strictness) == 1);
        CHECK(objections_of("__builtin_frame_address(0);", strictness) == 1);
        CHECK(objections_of("int plasma = 0; // asm", strictness) == 0);
    }
    CHECK(objections_of("#define J(a, b) a##b", Strictness::grader) == 1);
    CHECK(objections_of("#define J(a, b) a##b", Strictness::learner) == 0);
}

TEST_CASE("a name that costs too much to be looked at is refused") {
    const std::string long_name(300'000, 'a');
    CHECK(
        why_not_needed(
            needed("_ZSt" + std::to_string(long_name.size()) + long_name + "v"), Strictness::grader
        ) == "has a name of 300011 letters"
    );
    std::string type = "PN4dist1PINS_1QES0_EE";
    for (int level = 1; level < 60; ++level) {
        type = "PN4dist1PI" + type + "S" + "0_EE";
    }
    CHECK(
        why_not_defined({"_ZN4dist5takesE" + type, 'T'}, {}, true) ==
        "has a name whose types are nested too deeply to be read"
    );
}

TEST_CASE("a lone CR ends a line, as it does for the compiler") {
    CHECK(
        with_plain_lines("\xEF\xBB\xBF"
                         "a\r\nb\rc\n\r\nd\r") == "a\nb\nc\n\nd\n"
    );
    CHECK(objections_of("// joins\r#define J(a, b) a##b") == 1);
    CHECK(objections_of("// joins\r\n#define J(a, b) a##b") == 1);
    CHECK(why_no_source("\xFF\xFEi\0") == "is UTF-16: it has to be saved as UTF-8");
    CHECK(why_no_source(std::string("int\0x", 5)).starts_with("holds zero bytes"));
    CHECK(why_no_source("int x;  // \xE9\n").empty());
}

TEST_CASE("a directive reaches to the end of its line") {
    std::string directives;
    std::string others;
    for (const Token& token : tokens_of("a # b\n  # include <c> \\\n d\ne(\"#\")\n")) {
        (token.directive ? directives : others) += token.text + " ";
    }
    CHECK(directives == "# include < c > d ");
    CHECK(others == "a # b e ( \"\" ) ");
}

TEST_CASE("what a preprocessor makes of a file is looked at where it is the file's own") {
    const std::string text =
        "# 1 \"/x/a.cpp\"\n# 1 \"/usr/include/b.h\" 1\nint f() __asm__(\"g\");\n# 4 \"/x/a.cpp\" "
        "2\nint own;\n"
        "long h() __asm__(\"k\");\n";
    const auto found = objections_to_preprocessed(text, "/x/a.cpp", "a.cpp");
    REQUIRE(found.size() == 1);
    CHECK(found[0].where == "a.cpp:5");
    const auto count = [](const std::string& line) {
        return objections_to_preprocessed("# 1 \"a.cpp\"\n" + line + "\n", "a.cpp", "a.cpp").size();
    };
    CHECK(count("__attribute__((section(\"x\"))) int a;") == 1);
    CHECK(count("[[gnu::section(\"x\")]] int a;") == 1);
    CHECK(count("int section = 0;") == 0);
    CHECK(count("#ident \"x\"") == 1);
    CHECK(count("int ident = 0;") == 0);
}

TEST_CASE("of the course an answer uses what it is given, and nothing that tests measure by") {
    for (const Strictness strictness : {Strictness::learner, Strictness::grader}) {
        for (const char* const name :
             {"_ZN4dist2nn11MemoryScopeC1ENS0_10MemoryKindE",
              "_ZN4dist2nn12free_storageERKN2at6TensorE", "_ZTVN4dist5ErrorE",
              "_ZN4dist10ring_shiftESt4spanIKfLm18446744073709551615EES0_IfLm18446744073709551615EE"
              "RKNS_12CommunicatorE",
              "_ZN4dist10CommThreadC1Ev"}) {
            INFO(name);
            CHECK(may_need(name, strictness));
        }
        for (const char* const name :
             {"_ZN4dist2nn18forget_peak_memoryEv",
              "_ZN4dist2nn16on_memory_changeESt8functionIFvRKNS0_11MemoryBytesEEE",
              "_ZN4dist2nn12count_memoryEv", "_ZN4dist5trace4playEv", "_ZN4dist13tell_of_deathEv",
              "_ZN4dist11seeded_dataEmim"}) {
            INFO(name);
            CHECK_FALSE(may_need(name, strictness));
        }
    }
}

TEST_CASE("what computes may be needed, what reaches further may not") {
    for (const char* const name :
         {"MPI_Send",
          "ompi_mpi_float",
          "ompi_mpi_errors_return",
          "ompi_request_null",
          "feholdexcept",
          "memcpy",
          "__memcpy_chk",
          "strlen",
          "pthread_mutex_lock",
          "sqrtf",
          "pow",
          "printf",
          "_Znwm",
          "_ZSt4cout",
          "_ZNSt6thread4joinEv",
          "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEPKcmm",
          "_ZNKRSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv",
          "__cxa_throw",
          "_Unwind_Resume",
          "_ZN4dist4sendESt4spanIKfLm18446744073709551615EEiRKNS_12CommunicatorEi",
          "_ZN2at6TensorD1Ev",
          "_ZNSdD2Ev",
          "_ZTVSd",
          "_ZTTNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEE",
          "_ZThn16_NSdD1Ev",
          "_ZnamSt11align_val_t",
          "_ZTIi",
          "_ZNK3c1010TensorImpl5sizesEv",
          "_ZTVN10__cxxabiv117__class_type_infoE",
          "exit",
          "__extendhfsf2",
          "__trunctfdf2"}) {
        INFO(name);
        CHECK(may_need(name));
    }
    for (const char* const name :
         {"getenv",
          "fopen",
          "open",
          "read",
          "write",
          "rename",
          "unlink",
          "sem_open",
          "longjmp",
          "_setjmp",
          "atexit",
          "_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode",
          "_ZNSt10filesystem6removeERKNS_7__cxx114pathE",
          "_ZSt13set_terminatePFvvE",
          "_ZN2at9from_fileE",
          "_ZN2at14DynamicLibrary3symEPKc",
          "_ZN5torch3jit4loadE",
          "_ZN4c10d12ProcessGroupE",
          "_ZN3c1015SetCPUAllocatorEPNS_9AllocatorEh",
          "inflate",
          "pmix_init"}) {
        INFO(name);
        CHECK_FALSE(may_need(name));
        CHECK(may_need(name, Strictness::learner));
    }
    for (const char* const name :
         {"PMPI_Allreduce",
          "fork",
          "clone",
          "execve",
          "system",
          "kill",
          "ptrace",
          "mprotect",
          "mmap",
          "dlsym",
          "dlopen",
          "setenv",
          "environ",
          "sigaction",
          "socket",
          "process_vm_writev",
          "shm_open",
          "MPI_Win_allocate_shared",
          "_ZN4dist7harness12current_testEv",
          "_ZN5Catch1fIiEEvT_",
          "_ZN4dist7harness1fIfEESt6vectorIT_SaIS3_EES3_",
          "_ZN4dist2nn6hiddenIiEEvT_",
          "_ZTIN5Catch20TestFailureExceptionE",
          "_ZTVN4dist7harness7SkippedE"}) {
        INFO(name);
        CHECK_FALSE(may_need(name));
        CHECK_FALSE(may_need(name, Strictness::learner));
    }
}

TEST_CASE(
    "calls on files are told apart from what is unknown: answers that may write files may need them"
) {
    const auto why = [](const std::string& name) {
        return why_not_needed(needed(name), Strictness::grader);
    };
    for (const char* const name :
         {"open", "__open_2", "pread64", "__pread_chk", "write", "flock", "ftruncate"}) {
        INFO(name);
        CHECK(why(name).starts_with("reads or writes files"));
    }
    for (const char* const name :
         {"dup", "dup2", "fcntl", "ioctl", "openat2", "fallocate", "fopen", "unlink"}) {
        INFO(name);
        CHECK(why(name) == kUnknown);
    }
}

TEST_CASE("an answer defines what is its own") {
    const Taken taken = {
        .all = {"_ZN4dist11seeded_dataEmim", "_ZN4dist11inline_nameEv"},
        .strong = {"_ZN4dist11seeded_dataEmim"}};
    const auto may = [&](const std::string& name, char kind, bool is_own = false) {
        return why_not_defined({name, kind}, taken, is_own).empty();
    };
    CHECK(may("_ZN4dist10all_reduceEv", 'T'));
    CHECK(may("_Z6helperi", 'T'));
    CHECK(may("_ZNSt6vectorIfSaIfEE9push_backERKf", 'W'));  // a template of the C++ library
    CHECK(may("DW.ref.__gxx_personality_v0", 'V'));
    CHECK_FALSE(may("main", 'T'));
    CHECK_FALSE(may("MPI_Send", 'T'));
    CHECK_FALSE(may("malloc", 'W'));
    CHECK_FALSE(may("_Znwm", 'T'));
    CHECK_FALSE(may("_Znwm", 'W'));
    CHECK(may("_ZnwmPv", 'W'));  // where there is room already: an inline function
    CHECK(may("_ZdlPvS_", 'W'));
    CHECK_FALSE(may("_ZdlPv", 'T'));
    CHECK_FALSE(may("_ZNSt6thread4joinEv", 'T'));
    CHECK_FALSE(may("_ZN4dist11seeded_dataEmim", 'T'));
    CHECK_FALSE(may("_ZN4dist7harness4sameEv", 'W'));
    CHECK_FALSE(may("_ZTIN4dist7harness7SkippedE", 'V'));
    CHECK_FALSE(may("_Z4fastv", 'i'));
    CHECK(may("_ZN4dist11inline_nameEv", 'W'));
    CHECK_FALSE(may("_ZN4dist11inline_nameEv", 'W', true));
    constexpr const char* kOpen =
        "_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode";
    CHECK(may(kOpen, 'W'));  // of <fstream>
    CHECK_FALSE(may(kOpen, 'W', true));
    CHECK_FALSE(may("_ZN2at6Tensor4backEv", 'T', true));
    CHECK(may("_ZNKSt4hashIN4dist3KeyEEclERKS1_", 'W', true));
    // void Catch::f<int>(int), std::vector<float> dist::harness::f<float>(float)
    CHECK_FALSE(may("_ZN5Catch1fIiEEvT_", 'W', true));
    CHECK_FALSE(may("_ZN4dist7harness1fIfEESt6vectorIT_SaIS3_EES3_", 'W', true));
    CHECK_FALSE(may("_ZTv0_n24_N5Catch1XD1Ev", 'V'));
}

TEST_CASE("sockets are for exercises that have them, and for no other") {
    for (const char* const name :
         {"socket", "connect", "bind", "recv", "__recv_chk", "poll", "getaddrinfo", "close",
          "_ZN4dist3net9listen_onEiNS0_4FromE", "_ZN4dist3net6Socket5closeEv"}) {
        INFO(name);
        CHECK(is_for_sockets(needed(name)));
        CHECK_FALSE(may_need(name));
    }
    for (const char* const name :
         {"memcpy", "open", "fork", "syscall", "dup2", "ioctl", "_ZN4dist10ring_shiftEv",
          "_ZN4dist7harness13FaultyNetworkC1Em"}) {
        INFO(name);
        CHECK_FALSE(is_for_sockets(needed(name)));
    }
    for (const char* const name : {"socket", "_ZN4dist3net9listen_onEiNS0_4FromE"}) {
        INFO(name);
        CHECK_FALSE(may_need(name, Strictness::learner));
    }
}
