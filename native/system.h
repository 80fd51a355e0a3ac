// Everything of the program that differs by operating system: arguments, terminals, signals, files by name.
// system.cpp is the only file in native/ with platform conditionals. All strings are UTF-8.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace bitwin::native {

enum class Stream { input = 0, output = 1, error = 2 };

// Prepares the process (UTF-8 console, binary pipes, no death by SIGPIPE or SIGXFSZ, no standard stream that is closed)
// and returns its arguments, the program's name first.
std::vector<std::string> set_up_process(int argc, char** argv);

// The value of an environment variable, or an empty string.
std::string environment_variable(const char* name);

// The processor's name; empty where unknown.
std::string processor_name();

// The peak of the process's memory (system::peak_resident_bytes) counts from now on, where the system can do that.
void reset_peak_memory();

bool is_terminal(Stream stream);
// Columns of the terminal on standard error; 80 when unknown.
int terminal_width();
// Whether escape sequences do on this stream what they should: a terminal that is not "dumb".
bool understands_escapes(Stream stream);
// The same, and the user has not set NO_COLOR (https://no-color.org).
bool wants_colour(Stream stream);

enum class WriteResult { ok, reader_gone, failed };
// Writes all of `text` unbuffered; on `failed`, errno says why.
WriteResult write_stream(Stream stream, std::string_view text);

// cut: the terminal has thrown away the end of a line that is longer than it keeps (4095 bytes on Linux).
enum class LineResult { line, end, interrupted, cut };
// Reads one line from the terminal, without its line end.
LineResult read_terminal_line(std::string& line);

// Reads up to `size` bytes of standard input; 0 at its end, -1 on an error (errno).
long read_input(char* data, size_t size);

// Opens a file for reading without buffering, or returns null (errno).
std::FILE* open_file(const std::string& path);
// Creates a file that only this user may read, for writing without buffering; null when that fails, or there is one of
// that name (errno).
std::FILE* create_file(const std::string& path);
// Fills `data` from `offset` on, from any thread; false when the file ends before or cannot be read. The file's own
// position is of no use afterwards.
bool read_at(std::FILE* file, uint64_t offset, uint8_t* data, size_t size);
// Has what was written stored by the device; false on an error (errno).
bool flush_to_disk(std::FILE* file);
// The folder for what a user's programs may lose (XDG_CACHE_HOME, else ~/.cache; LOCALAPPDATA); empty without one.
std::string user_cache_folder();

// From now on Ctrl-C calls `handler` instead of ending the process. When it returns false, read_terminal_line() in
// progress, or else the next one, is interrupted. It runs in a signal handler or on another thread: it may only store
// to atomics and call Session::stop() and leave_now().
void catch_interrupts(bool (*handler)());
// Ends the process at once, from a handler too.
[[noreturn]] void leave_now(int exit_code);

}  // namespace bitwin::native
