/* Threads with files of their own, and threads that share one: threads MODEL.anec */
#include <pthread.h>

#include "client.h"

#define THREADS 4
#define ROUNDS 50

static const char *model;
static int shared;

static void *own(void *unused)
{
	(void)unused;
	int fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, model);
	for (int round = 0; round < ROUNDS; round++) {
		struct drm_ane_submit submit = submission(&program);
		CHECK(ioctl(fd, DRM_IOCTL_ANE_SUBMIT, &submit) == 0);
	}
	CHECK(close(fd) == 0);
	return NULL;
}

static void *common(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct buffer buffer = new_buffer(shared, 0x8000);
		memset(buffer.map, round, buffer.size);
		struct drm_ane_bo_info info = { .handle = buffer.handle };
		CHECK(ioctl(shared, DRM_IOCTL_ANE_BO_INFO, &info) == 0 && info.size == 0x8000);
		for (uint64_t at = 0; at < buffer.size; at++)
			CHECK(buffer.map[at] == (uint8_t)round);
		struct drm_ane_bo_free gone = { .handle = buffer.handle };
		CHECK(ioctl(shared, DRM_IOCTL_ANE_BO_FREE, &gone) == 0);
		CHECK(munmap(buffer.map, buffer.size) == 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2 * THREADS];
	CHECK(argc == 2);
	model = argv[1];
	shared = open_device();
	CHECK(shared >= 0);
	for (int thread = 0; thread < 2 * THREADS; thread++)
		CHECK(pthread_create(&threads[thread], NULL, thread % 2 ? own : common, NULL) == 0);
	for (int thread = 0; thread < 2 * THREADS; thread++)
		CHECK(pthread_join(threads[thread], NULL) == 0);
	return 0;
}
