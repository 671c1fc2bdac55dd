/*
 * Opens and closes the device a thousand times: there is an end to open files, so each closing has to be noticed. With an
 * argument, so many threads do so at the same time.
 */
#include <pthread.h>

#include "client.h"

static void *open_and_close(void *cycles)
{
	for (int cycle = 0; cycle < *(int *)cycles; cycle++) {
		struct version version = { 0 };
		int fd = open("/dev/accel/accel0", O_RDWR);
		CHECK(fd >= 0 && ioctl(fd, IOCTL_VERSION, &version) == 0 && close(fd) == 0);
	}
	return NULL;
}

/* What a thread closes is noticed by another that is just opening, in a place of which a third still knows the old file. */
static void in_threads(int count)
{
	int cycles = 6000 / count;
	pthread_t threads[64];
	CHECK(count <= 64);
	for (int thread = 0; thread < count; thread++)
		CHECK(pthread_create(&threads[thread], NULL, open_and_close, &cycles) == 0);
	for (int thread = 0; thread < count; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0);
}

/* All files that there are, and then none. */
static void fill(int expected)
{
	int opened = 0;
	while (open("/dev/accel/accel0", O_RDWR) >= 0)
		opened++;
	CHECK(errno == EBUSY && opened == expected);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		in_threads(atoi(argv[1]));
		fill(256);
		return 0;
	}
	/* One that stays open, and one of which only a mapping stays. */
	int kept = open_device(), mapped = open_device();
	CHECK(kept >= 0 && mapped >= 0);
	struct buffer first = new_buffer(kept, 0x4000), second = new_buffer(mapped, 0x4000);
	CHECK(close(mapped) == 0);
	memset(first.map, 1, first.size);
	memset(second.map, 2, second.size);
	for (int cycle = 0; cycle < 1000; cycle++) {
		int fd = open("/dev/accel/accel0", O_RDWR);
		CHECK(fd >= 0);
		struct buffer buffer = new_buffer(fd, 0x4000);
		CHECK(*buffer.map == 0);
		*buffer.map = 3;
		if (cycle % 2) {
			int again = dup(fd);
			CHECK(again >= 0 && close(fd) == 0 && close(again) == 0);
		} else {
			CHECK(close(fd) == 0);
		}
		CHECK(munmap(buffer.map, buffer.size) == 0);
	}
	for (uint64_t at = 0; at < first.size; at++)
		CHECK(first.map[at] == 1 && second.map[at] == 2);
	struct drm_ane_bo_info info = { .handle = first.handle };
	CHECK(ioctl(kept, DRM_IOCTL_ANE_BO_INFO, &info) == 0);
	fill(254);
	return 0;
}
