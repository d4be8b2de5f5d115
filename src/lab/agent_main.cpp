// Called by MPI launchers in place of ssh: runs a command in a host of the lab.
//   thalweg-lab-agent [ssh's options] HOST COMMAND...    through a shell, as ssh does
//   thalweg-lab-agent --run HOST COMMAND...              as it is, with this environment and folder

#include "lab/spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

using thalweg::lab::SpawnRequest;

/// Whether a login over ssh sets the variable; the launcher must pass all others itself, as on a
/// real cluster.
bool is_of_login(std::string_view variable) {
  const auto name = variable.substr(0, variable.find('='));
  constexpr std::string_view login[] = {"HOME", "USER", "LOGNAME",         "SHELL", "PATH",
                                        "LANG", "TZ",   "LD_LIBRARY_PATH", "TMPDIR"};
  return std::find(std::begin(login), std::end(login), name) != std::end(login) ||
         name.starts_with("LC_") || name.starts_with("THALWEG_LAB");
}

std::vector<std::string> environment(bool only_of_login) {
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each)
    if (!only_of_login || is_of_login(*each)) result.emplace_back(*each);
  return result;
}

/// Returns the index of the first argument that is not one of ssh's options.
std::size_t skip_options(const std::vector<std::string>& arguments) {
  constexpr std::string_view with_value = "BbcDEeFIiJLlmOopQRSWw";
  std::size_t next = 0;
  while (next < arguments.size() && arguments[next].starts_with('-') && arguments[next].size() > 1)
    next +=
        arguments[next].size() == 2 && with_value.find(arguments[next][1]) != std::string_view::npos
            ? 2
            : 1;
  return next;
}

std::string joined(const std::vector<std::string>& arguments, std::size_t first) {
  std::string line;
  for (auto index = first; index < arguments.size(); ++index)
    line += (index == first ? "" : " ") + arguments[index];
  return line;
}

SpawnRequest as_ssh(const std::vector<std::string>& arguments, std::size_t command) {
  const char* home = std::getenv("HOME");
  return {home != nullptr ? home : "/",
          {"/bin/sh", "-c", joined(arguments, command)},
          environment(true)};
}

SpawnRequest as_it_is(const std::vector<std::string>& arguments, std::size_t command) {
  const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(command);
  return {std::filesystem::current_path(), {first, arguments.end()}, environment(false)};
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool direct = !arguments.empty() && arguments[0] == "--run";
  const auto host = direct ? 1 : skip_options(arguments);
  const char* lab = std::getenv("THALWEG_LAB_STATE");
  if (lab == nullptr) {
    std::cerr << "thalweg-lab-agent: THALWEG_LAB_STATE is not set; start MPI by `thalweg lab run "
                 "-- ...`\n";
    return 255;
  }
  if (host + 1 >= arguments.size()) {
    std::cerr << "usage: thalweg-lab-agent HOST COMMAND...\n";
    return 255;
  }
  try {
    const auto socket = thalweg::lab::socket_of_host(lab, arguments[host]);
    return thalweg::lab::run_in_host(socket, direct ? as_it_is(arguments, host + 1)
                                                    : as_ssh(arguments, host + 1));
  } catch (const std::system_error& error) {
    const bool unknown = error.code().value() == ENOENT || error.code().value() == ECONNREFUSED;
    std::cerr << "thalweg-lab-agent: "
              << (unknown ? "no host " + arguments[host] +
                                " in the running lab; `thalweg lab status` lists them"
                          : std::string(error.what()))
              << '\n';
  } catch (const std::exception& error) {
    std::cerr << "thalweg-lab-agent: " << error.what() << '\n';
  }
  return 255;
}
