#include "native/system.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// After windows.h, which it needs.
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace bitwin::native {

#ifdef _WIN32

namespace {

std::string from_utf16(const wchar_t* text, int length) {
  int bytes = WideCharToMultiByte(CP_UTF8, 0, text, length, nullptr, 0, nullptr, nullptr);
  std::string result(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, length, result.data(), bytes, nullptr, nullptr);
  return result;
}

std::wstring to_utf16(const std::string& text) {
  int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0);
  std::wstring result(static_cast<size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), result.data(), length);
  return result;
}

HANDLE handle_of(Stream stream) {
  DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  return GetStdHandle(names[static_cast<int>(stream)]);
}

bool (*interrupt_handler)() = nullptr;

BOOL WINAPI on_console_event(DWORD event) {
  if (event != CTRL_C_EVENT) return FALSE;
  static_cast<void>(interrupt_handler());  // the console itself aborts a read
  return TRUE;
}

}  // namespace

std::vector<std::string> set_up_process(int, char**) {
  for (int descriptor = 0; descriptor < 3; ++descriptor) _setmode(descriptor, _O_BINARY);
  SetConsoleCP(CP_UTF8);
  SetConsoleOutputCP(CP_UTF8);
  for (Stream stream : {Stream::output, Stream::error}) {
    DWORD mode = 0;
    if (GetConsoleMode(handle_of(stream), &mode)) {
      SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
  int count = 0;
  wchar_t** wide = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(from_utf16(wide[i], static_cast<int>(wcslen(wide[i]))));
  LocalFree(wide);
  return arguments;
}

std::string environment_variable(const char* name) {
  std::wstring wide_name = to_utf16(name);
  DWORD length = GetEnvironmentVariableW(wide_name.c_str(), nullptr, 0);
  if (length == 0) return "";
  std::wstring value(length, L'\0');
  length = GetEnvironmentVariableW(wide_name.c_str(), value.data(), length);
  return from_utf16(value.data(), static_cast<int>(length));
}

bool is_terminal(Stream stream) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of(stream), &mode) != 0;
}

int terminal_width() {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!GetConsoleScreenBufferInfo(handle_of(Stream::error), &info)) return 80;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

WriteResult write_stream(Stream stream, std::string_view text) {
  while (!text.empty()) {
    DWORD written = 0;
    // Consoles of older systems refuse large writes.
    DWORD wanted = static_cast<DWORD>(text.size() < 16384 ? text.size() : 16384);
    if (!WriteFile(handle_of(stream), text.data(), wanted, &written, nullptr)) {
      DWORD reason = GetLastError();
      if (reason == ERROR_BROKEN_PIPE || reason == ERROR_NO_DATA) return WriteResult::reader_gone;
      errno = reason == ERROR_DISK_FULL ? ENOSPC : EIO;
      return WriteResult::failed;
    }
    text.remove_prefix(written);
  }
  return WriteResult::ok;
}

LineResult read_terminal_line(std::string& line) {
  std::wstring wide;
  for (;;) {
    wchar_t piece[1024];
    DWORD count = 0;
    SetLastError(0);
    BOOL read = ReadConsoleW(handle_of(Stream::input), piece, 1024, &count, nullptr);
    if (GetLastError() == ERROR_OPERATION_ABORTED) return LineResult::interrupted;
    if (!read || count == 0) return LineResult::end;
    wide.append(piece, count);
    if (wide.back() == L'\n') break;
  }
  while (!wide.empty() && (wide.back() == L'\n' || wide.back() == L'\r')) wide.pop_back();
  if (wide == L"\x1a") return LineResult::end;  // Ctrl-Z
  line = from_utf16(wide.data(), static_cast<int>(wide.size()));
  return LineResult::line;
}

long read_input(char* data, size_t size) {
  return _read(0, data, static_cast<unsigned>(size < (1u << 20) ? size : (1u << 20)));
}

std::FILE* open_file(const std::string& path) {
  std::FILE* file = _wfopen(to_utf16(path).c_str(), L"rb");
  if (file) std::setvbuf(file, nullptr, _IONBF, 0);
  return file;
}

std::FILE* create_file(const std::string& path) {
  std::FILE* file = _wfopen(to_utf16(path).c_str(), L"wbx");
  if (file) std::setvbuf(file, nullptr, _IONBF, 0);
  return file;
}

bool read_at(std::FILE* file, uint64_t offset, uint8_t* data, size_t size) {
  HANDLE handle = reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(file)));
  while (size > 0) {
    OVERLAPPED place{};
    place.Offset = static_cast<DWORD>(offset);
    place.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD count = 0;
    if (!ReadFile(handle, data, static_cast<DWORD>(size < (1u << 30) ? size : (1u << 30)), &count, &place)) return false;
    if (count == 0) return false;
    data += count;
    offset += count;
    size -= count;
  }
  return true;
}

bool flush_to_disk(std::FILE* file) { return std::fflush(file) == 0 && _commit(_fileno(file)) == 0; }

std::string user_cache_folder() { return environment_variable("LOCALAPPDATA"); }

void catch_interrupts(bool (*handler)()) {
  interrupt_handler = handler;
  SetConsoleCtrlHandler(on_console_event, TRUE);
}

void leave_now(int exit_code) { ExitProcess(static_cast<UINT>(exit_code)); }

#else

namespace {

bool (*volatile interrupt_handler)() = nullptr;
// A byte in it: an interrupt waits for read_terminal_line(). A pipe, since a signal just before a read would be lost.
int interrupt_pipe[2] = {-1, -1};

void on_signal(int) {
  int saved = errno;
  if (!interrupt_handler()) {
    // It fails only when the pipe is full, and then it holds enough interrupts.
    [[maybe_unused]] ssize_t written = ::write(interrupt_pipe[1], "", 1);
  }
  errno = saved;
}

}  // namespace

std::vector<std::string> set_up_process(int argc, char** argv) {
  // Failures of a write are told by what it returns.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // A stream that the caller has closed must not become the number of a file or pipe opened later.
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDONLY);
  }
  return std::vector<std::string>(argv, argv + argc);
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_terminal(Stream stream) { return isatty(static_cast<int>(stream)) == 1; }

int terminal_width() {
  winsize size{};
  if (ioctl(static_cast<int>(Stream::error), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

WriteResult write_stream(Stream stream, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(static_cast<int>(stream), text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another process made the shared pipe non-blocking
        pollfd ready{static_cast<int>(stream), POLLOUT, 0};
        poll(&ready, 1, -1);
        continue;
      }
      return errno == EPIPE ? WriteResult::reader_gone : WriteResult::failed;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return WriteResult::ok;
}

// A line that fills what the terminal driver keeps has most likely lost its end.
constexpr size_t kMaxTerminalLine = 4095;

LineResult read_terminal_line(std::string& line) {
  static std::string pending;
  for (;;) {
    size_t end = pending.find('\n');
    if (end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      if (line.size() >= kMaxTerminalLine) return LineResult::cut;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return LineResult::line;
    }
    char piece[4096];
    pollfd ready[2] = {{static_cast<int>(Stream::input), POLLIN, 0}, {interrupt_pipe[0], POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return LineResult::end;
    }
    if (ready[1].revents != 0) {
      while (::read(interrupt_pipe[0], piece, sizeof piece) > 0) continue;
      pending.clear();
      return LineResult::interrupted;
    }
    ssize_t count = ::read(static_cast<int>(Stream::input), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      line = std::exchange(pending, "");
      return line.empty() ? LineResult::end : LineResult::line;
    }
    pending.append(piece, static_cast<size_t>(count));
  }
}

long read_input(char* data, size_t size) {
  for (;;) {
    ssize_t count = ::read(static_cast<int>(Stream::input), data, size);
    if (count >= 0 || errno != EINTR) return static_cast<long>(count);
  }
}

std::FILE* open_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file) std::setvbuf(file, nullptr, _IONBF, 0);
  return file;
}

std::FILE* create_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return nullptr;
  std::FILE* file = fdopen(descriptor, "wb");
  if (file) {
    std::setvbuf(file, nullptr, _IONBF, 0);
  } else {
    close(descriptor);
  }
  return file;
}

bool read_at(std::FILE* file, uint64_t offset, uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t count = pread(fileno(file), data, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool flush_to_disk(std::FILE* file) { return std::fflush(file) == 0 && fsync(fileno(file)) == 0; }

std::string user_cache_folder() {
  // The specification has programs ignore a relative XDG_CACHE_HOME.
  const std::string folder = environment_variable("XDG_CACHE_HOME");
  if (folder.starts_with('/')) return folder;
  const std::string home = environment_variable("HOME");
  return home.empty() ? "" : home + "/.cache";
}

void catch_interrupts(bool (*handler)()) {
  interrupt_handler = handler;
  if (pipe(interrupt_pipe) == 0) {
    for (int end : interrupt_pipe) {
      fcntl(end, F_SETFL, O_NONBLOCK);
      fcntl(end, F_SETFD, FD_CLOEXEC);
    }
  }
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

void leave_now(int exit_code) { _exit(exit_code); }

#endif

#ifdef __linux__

std::string processor_name() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/cpuinfo", "r"), std::fclose);
  char line[512];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    const std::string_view text(line);
    if (!text.starts_with("model name")) continue;
    const size_t colon = text.find(": ");
    if (colon != std::string_view::npos) return std::string(text.substr(colon + 2, text.find('\n') - colon - 2));
  }
  return "";
}

void reset_peak_memory() {
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

#else

std::string processor_name() { return ""; }
void reset_peak_memory() {}

#endif

bool understands_escapes(Stream stream) { return is_terminal(stream) && environment_variable("TERM") != "dumb"; }

bool wants_colour(Stream stream) { return understands_escapes(stream) && environment_variable("NO_COLOR").empty(); }

}  // namespace bitwin::native
