/* The paths of the device, by the functions that look at paths. Compiled as it is and fortified. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>

#include "client.h"

#define NODE "/dev/accel/accel0"

/* Of several calls that could do it, the fortified one has a room that it knows. */
static void whole_paths(void)
{
	char room[PATH_MAX], *made;
	CHECK(realpath(NODE, room) == room && strcmp(room, NODE) == 0);
	CHECK(realpath("/dev/accel//./accel0", room) == room && strcmp(room, NODE) == 0);
	CHECK(realpath("/dev/accel/", room) == room && strcmp(room, "/dev/accel") == 0);
	made = realpath(NODE, NULL);
	CHECK(made && strcmp(made, NODE) == 0);
	free(made);
	made = canonicalize_file_name("/dev/accel/./accel0");
	CHECK(made && strcmp(made, NODE) == 0);
	free(made);
	errno = 0;
	CHECK(!realpath("/dev/accel/accel1", room) && errno == ENOENT);
	errno = 0;
	CHECK(!canonicalize_file_name("/dev/accel/accel1") && errno == ENOENT);
	CHECK(realpath("/proc/./self/../self/fd", room) == room && strncmp(room, "/proc/", 6) == 0);
	made = canonicalize_file_name("/");
	CHECK(made && strcmp(made, "/") == 0);
	free(made);
}

static int is_node(const struct dirent *entry)
{
	return strncmp(entry->d_name, "accel", 5) == 0;
}

static void listings(void)
{
	struct dirent **entries;
	CHECK(scandir("/dev/accel", &entries, is_node, alphasort) == 1 && strcmp(entries[0]->d_name, "accel0") == 0);
	free(entries[0]);
	free(entries);
	errno = 0;
	CHECK(scandir(NODE, &entries, NULL, NULL) == -1 && errno == ENOTDIR);
	int count = scandir("/proc/self/fd", &entries, NULL, alphasort);
	CHECK(count >= 5);
	while (count > 0)
		free(entries[--count]);
	free(entries);
}

static void status(void)
{
	struct stat by_path, by_descriptor, other;
	int fd = open(NODE, O_RDWR), again = open(NODE, O_RDWR);
	CHECK(fd >= 0 && again >= 0);
	CHECK(stat(NODE, &by_path) == 0 && fstat(fd, &by_descriptor) == 0 && fstat(again, &other) == 0);
	CHECK(by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev);
	CHECK(by_path.st_ino == other.st_ino && by_path.st_rdev == other.st_rdev && S_ISCHR(other.st_mode));
	struct statx more;
	CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more) == 0);
	CHECK(more.stx_ino == by_path.st_ino && more.stx_dev_major == 0 && more.stx_dev_minor == 0);
	CHECK(close(fd) == 0 && close(again) == 0);
}

int main(void)
{
	whole_paths();
	listings();
	status();
	return 0;
}
